import type { ErrorType } from './error-type.ts'

/** Faults of the service, of its models, and of what it needs. */
export const serviceErrors = {
  copy_failed: {
    status: 500,
    errorType: 'Exception',
    when: 'A file could not be copied to `ARTIFACT_SHARE_DIR`.',
    remedy: 'Check folder and free space; the log of the service has the cause.',
  },
  internal: {
    status: 500,
    errorType: 'Exception',
    when: 'The service has a fault.',
    remedy: 'Look up the `request-id` in the log of the service, and report the fault.',
  },
  schema_mismatch: {
    status: 502,
    errorType: 'SchemaMismatch',
    when: 'The answer does not fit its `response_schema`, after `limits.max_schema_repairs` repairs. `details.output` is the last text of the model.',
    remedy:
      'Send the request again with the same `request-id`: no tool call is repeated. Simplify the schema, describe its fields, or use a stronger model.',
  },
  model_unavailable: {
    status: 502,
    errorType: 'ModelUnavailable',
    when: 'No model could answer, after retries and all models of `llms.fallback`.',
    remedy:
      'Send the request again with the same `request-id`: the run goes on where it stopped. Check the models with `agent-core doctor`.',
  },
  tool_not_ready: {
    status: 503,
    errorType: 'ToolNotReady',
    when: 'The server or file behind the tool cannot be reached or read. The message has the reason.',
    remedy: 'Wait, since the service tries again by itself; check the tool with `agent-core doctor`.',
  },
  process_lost: {
    status: 503,
    errorType: 'ProcessLost',
    when: 'The process that executed the run died, and nobody waited for its answer any more.',
    remedy: 'Send the request again with the same `request-id`: the run goes on where it stopped.',
  },
  configuration_not_stored: {
    status: 503,
    errorType: 'ConfigurationNotStored',
    when: 'The change is valid, but the configuration could not be written.',
    remedy: 'Check that agent.yaml and its folder can be written, or send `in_memory_only`.',
  },
  artifacts_unavailable: {
    status: 503,
    errorType: 'ArtifactsUnavailable',
    when: 'The files of artifacts cannot be reached.',
    remedy: 'Wait for the seconds in `retry-after`; check `ARTIFACT_STORE` with `agent-core doctor`.',
  },
  store_unavailable: {
    status: 503,
    errorType: 'StoreUnavailable',
    // A transient fault passes, or an operator makes room.
    retryAfter: 5,
    when: 'The database cannot be reached.',
    remedy: 'Send the request again with the same `request-id`, after the seconds in `retry-after`.',
  },
  console_not_built: {
    status: 503,
    errorType: 'ConsoleNotBuilt',
    when: 'A checkout runs from its sources, without a build of the console.',
    remedy: 'Run `npm run build`.',
  },
  documentation_not_built: {
    status: 503,
    errorType: 'DocumentationNotBuilt',
    when: 'A checkout runs from its sources, without a build of the documentation.',
    remedy: 'Run `npm run build`.',
  },
  overloaded: {
    status: 503,
    errorType: 'Overloaded',
    when: 'The process is stopping, is busy, has reached `limits.max_runs`, or cannot reach what it needs to check a key.',
    remedy: 'Send the request again after the seconds in `retry-after`.',
  },
} as const satisfies Record<string, ErrorType>
