# Meant to build Benchbook and to restage the first report, in a lab of its own inside the container. Its steps were run one by one on a fresh
# Debian 12; no image has been built yet.
#
#   docker build -t benchbook .
#   docker run --rm -v "$PWD/results:/benchbook/site" benchbook                       # the page: results/index.html
#   docker run --rm -it benchbook benchbook report dtm_mysql --profile smoke          # any other command
FROM golang:1.24-bookworm

# Debian's Python is 3.11; env/setup brings the rest of env/debian-packages.txt.
RUN apt-get update \
    && apt-get install -y --no-install-recommends make python3 python3-venv \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /benchbook
# What changes rarely comes first: packages are installed again only where these files change.
COPY env env
COPY pyproject.toml README.md LICENSE ./
COPY lib lib
COPY data/published data/published
COPY data/sample data/sample
COPY notebooks notebooks
RUN apt-get update && env/setup report && rm -rf /var/lib/apt/lists/*
COPY . .
ENV PATH="/benchbook/.venv/bin:/usr/sbin:${PATH}"
RUN benchbook build tidb
CMD ["benchbook", "report", "tidb_v7_1_3_sysbench", "--profile", "smoke"]
