// What a page sends while it is being left is out of any guard's sight: beacons, and requests that outlive their
// page. Runs before the page's own scripts: a beacon is said to be sent and is not; no request outlives its page.

(() => {
  const { Request, fetch } = window;
  Navigator.prototype.sendBeacon = () => true;
  window.fetch = function (what, how) {
    const asked = what instanceof Request && what.keepalive ? new Request(what, { keepalive: false }) : what;
    return fetch.call(this, asked, how && how.keepalive ? { ...how, keepalive: false } : how);
  };
})();
