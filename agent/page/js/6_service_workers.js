// How many service workers a document may register is limited: each is a process or thread of the browser with its own script, the browser
// goes on with what was asked for after the page is gone, and all pages of the browser wait for it.

const REGISTRATIONS = 20; // of one document; further ones are refused
let registrations = 0;

function limitServiceWorkers() {
  if (!window.ServiceWorkerContainer) return; // not on an insecure page
  overhear(ServiceWorkerContainer.prototype, "register", () => ({
    apply(native, self, args) {
      registrations += 1;
      if (registrations <= REGISTRATIONS) return Reflect.apply(native, self, args);
      return Promise.reject(new DOMException("Too many service workers", "QuotaExceededError"));
    },
  }));
}
