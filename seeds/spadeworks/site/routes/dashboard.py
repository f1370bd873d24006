"""The dashboard: key figures, the calls of two weeks, and what happened last."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from seeds.spadeworks.site import sample
from seeds.spadeworks.site.charts import line_chart
from seeds.spadeworks.site.site import visitor_of
from seeds.spadeworks.site.web import render, signed_in


@signed_in
async def _dashboard(request: Request) -> Response:
    agents = visitor_of(request).agents
    return render(
        request,
        "dashboard.html",
        active_agents=sum(a.status == "Live" for a in agents),
        agents=len(agents),
        chart=line_chart(sample.CALLS_PER_DAY),
        activity=sample.ACTIVITY,
    )


routes = [Route("/dashboard", _dashboard)]
