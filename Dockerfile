FROM python:3.12-slim

RUN apt-get update \
    && apt-get install -y --no-install-recommends \
        chromium-headless-shell espeak-ng ffmpeg fonts-dejavu-core fonts-noto-color-emoji \
    && rm -rf /var/lib/apt/lists/*

WORKDIR /app
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY periplus periplus
COPY agent agent
COPY mcp_server mcp_server
COPY loaders loaders
COPY kb_store kb_store
COPY web_pages web_pages
COPY kb_schema kb_schema
COPY seeds seeds
RUN pip install --no-cache-dir --constraint constraints.txt '.[livekit,openai,anthropic,mongo-arango,verify,serve,scale,otel]'

RUN useradd --create-home --uid 10001 periplus \
    && install -d -m 700 -o periplus -g periplus /data
USER periplus
WORKDIR /home/periplus
ENV PERIPLUS_CHROMIUM=/usr/bin/chromium-headless-shell \
    PERIPLUS_DATA_DIR=/data \
    PYTHONUNBUFFERED=1
VOLUME /data
EXPOSE 8080

ENTRYPOINT ["periplus"]
CMD ["--help"]
