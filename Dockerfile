# kafka-trial as an image: the daemons (exporter, lag-monitor, probe, audit), and every other command.
#
#   docker build -t kafka-trial .
#   docker run -v "$PWD/etc:/etc/kafka-trial:ro" -p 127.0.0.1:9308:9308 kafka-trial exporter --config /etc/kafka-trial/exporter.toml
#
# Where no registry can be reached, compose/images/stack.sh builds it from images made on the spot. The one in BUILDER has a
# folder /wheels, the one in MAVEN a folder /jars: what is there is taken from there, and the network is not asked.
# BASE and BUILDER must have their Python at the same place. Nothing in here needs BuildKit.
ARG BASE=python:3.12.11-slim-bookworm
ARG BUILDER=python:3.12.11-slim-bookworm
ARG MAVEN=maven:3.9.11-eclipse-temurin-17

FROM ${MAVEN} AS agent
LABEL org.opencontainers.image.title="kafka-trial"
COPY compose/java/pom.xml /pom.xml
RUN if [ -d /jars ]; then from=/jars; else from=/fetched \
 && mvn --quiet --batch-mode --strict-checksums --file /pom.xml --activate-profiles javaagent \
      dependency:copy-dependencies -DoutputDirectory=/fetched; fi \
 && mkdir /agent && cp "$from"/jmx_prometheus_javaagent-*.jar /agent/jmx_prometheus_javaagent.jar

FROM ${BUILDER} AS packages
LABEL org.opencontainers.image.title="kafka-trial"
ARG EXTRAS=exporter,lag,audit,tracing,dashboards,trials
# What traces are sent with; any other exporter of OpenTelemetry will do as well.
ARG MORE=opentelemetry-exporter-zipkin-json
WORKDIR /source
RUN python3 -m venv /tools && python3 -m venv --without-pip /opt/kafka-trial
COPY pyproject.toml requirements/dev.txt compose/images/needs.py ./
RUN if [ -d /wheels ]; then export PIP_NO_INDEX=1 PIP_FIND_LINKS=/wheels; fi \
 && python3 needs.py pyproject.toml "$EXTRAS" >needs.txt \
 && /tools/bin/pip install --quiet --no-cache-dir --constraint dev.txt hatchling \
 && /tools/bin/pip --python /opt/kafka-trial/bin/python install --quiet --no-cache-dir --constraint dev.txt --requirement needs.txt $MORE

FROM packages AS build
COPY . .
RUN /tools/bin/pip wheel --quiet --no-deps --no-build-isolation --wheel-dir /made . \
 && /tools/bin/pip --python /opt/kafka-trial/bin/python install --quiet --no-index --no-deps --prefix /package /made/*.whl

FROM ${BASE}
ARG VERSION=0.1.0
LABEL org.opencontainers.image.title="kafka-trial" \
      org.opencontainers.image.description="Observability and reliability tests for Apache Kafka" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.licenses="Apache-2.0"
# A JRE is enough for jmxquery: the compiler that it calls once is in there, only the command is not.
RUN if ! command -v java >/dev/null; then \
      apt-get update -qq && apt-get install -y -qq --no-install-recommends openjdk-17-jre-headless >/dev/null && rm -rf /var/lib/apt/lists/*; fi \
 && if ! command -v javac >/dev/null; then \
      printf '#!/bin/sh\nexec java -m jdk.compiler/com.sun.tools.javac.Main "$@"\n' >/usr/local/bin/javac && chmod 755 /usr/local/bin/javac; fi \
 && groupadd --gid 10001 kafka-trial \
 && useradd --uid 10001 --gid 10001 --home-dir /var/lib/kafka-trial --create-home --shell /usr/sbin/nologin kafka-trial \
 && mkdir /etc/kafka-trial
COPY --from=agent /agent /opt/agent
# Other people's packages are a layer of their own, fifty times the size of ours, and seldom change.
COPY --from=packages /opt/kafka-trial /opt/kafka-trial
COPY --from=build /package /opt/kafka-trial
COPY compose/images/healthy.py /opt/healthy.py
ENV PATH=/opt/kafka-trial/bin:$PATH HOME=/var/lib/kafka-trial PYTHONUNBUFFERED=1
USER 10001:10001
WORKDIR /var/lib/kafka-trial
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s --retries=3 CMD ["python", "-I", "/opt/healthy.py"]
ENTRYPOINT ["kafka-trial"]
CMD ["--help"]
