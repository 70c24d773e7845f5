{{- define "agent-core.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "agent-core.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- else if contains (include "agent-core.name" .) .Release.Name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "agent-core.name" .) | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "agent-core.selectorLabels" -}}
app.kubernetes.io/name: {{ include "agent-core.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "agent-core.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{ include "agent-core.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{- define "agent-core.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "agent-core.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "agent-core.secret" -}}
{{- default (include "agent-core.fullname" .) .Values.existingSecret -}}
{{- end -}}

{{- define "agent-core.dataClaim" -}}
{{- if .Values.data.existingClaim -}}
{{- .Values.data.existingClaim -}}
{{- else if .Values.data.size -}}
{{- include "agent-core.fullname" . -}}-data
{{- end -}}
{{- end -}}

{{- define "agent-core.publicUrl" -}}
{{- if .Values.publicUrl -}}
{{- .Values.publicUrl -}}
{{- else if and .Values.ingress.enabled .Values.ingress.hosts -}}
{{- ternary "https" "http" (not (empty .Values.ingress.tls)) -}}://{{- first .Values.ingress.hosts -}}
{{- end -}}
{{- end -}}

{{- define "agent-core.check" -}}
{{- if not .Values.existingSecret -}}
{{- $_ := required "Set existingSecret, or set secrets.DATABASE_URL to the address of a Postgres server." .Values.secrets.DATABASE_URL -}}
{{- $_ := required "Set existingSecret, or set secrets.SECRET_KEY to a random text of at least 32 characters that stays the same." .Values.secrets.SECRET_KEY -}}
{{- else if .Values.secrets -}}
{{- fail "Set either existingSecret or secrets, not both." -}}
{{- end -}}
{{- $several := or .Values.autoscaling.enabled (gt (int .Values.replicas) 1) -}}
{{- if and $several (not .Values.artifacts.store) (not (include "agent-core.dataClaim" .)) -}}
{{- fail "Several pods must share their files: set artifacts.store to a bucket, or set data.existingClaim or data.size for a volume that all pods can write to." -}}
{{- end -}}
{{- end -}}
