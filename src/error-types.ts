/** An error of the service: HTTP status, `details.error_type`, when it happens, and what the caller or the operator does about it. */
export interface ErrorType {
  status: number
  errorType: string
  /** Seconds until a retry makes sense, unless the error itself knows better. */
  retryAfter?: number
  /** The last two fields are for the reference. */
  when: string
  remedy: string
}

/** Requests that cannot be answered, whatever the state of the service. */
const requestErrors = {
  invalid_input: {
    status: 400,
    errorType: 'InvalidInput',
    when: 'An image, a context file or a parameter of a tool cannot be used. The message names it.',
    remedy: 'Correct the named part of the request.',
  },
  unauthorized: {
    status: 401,
    errorType: 'Unauthorized',
    when: 'The key is missing, malformed, expired, revoked, or signed by somebody else.',
    remedy: 'Send a valid key in `x-service-access`, or as `authorization: Bearer`.',
  },
  forbidden: {
    status: 403,
    errorType: 'Forbidden',
    when: 'The key lacks the permission that the message names, or a page of another origin sent the request.',
    remedy: 'Use a key with a role that has the permission.',
  },
  not_found: {
    status: 404,
    errorType: 'NotFound',
    when: 'The route, session, run, file or tool does not exist, or belongs to another caller.',
    remedy: 'Check the id, and the key: callers see their own data alone.',
  },
  method_not_allowed: {
    status: 405,
    errorType: 'MethodNotAllowed',
    when: 'The path exists, but not with this method.',
    remedy: 'Use a method of the header `allow`.',
  },
  request_timeout: {
    status: 408,
    errorType: 'RequestTimeout',
    when: 'The body of the request did not arrive in time.',
    remedy: 'Send the request again.',
  },
  input_too_large: {
    status: 413,
    errorType: 'MaxInputException',
    when: 'The messages are longer than `limits.max_input_characters`, or the body is larger than the route accepts.',
    remedy: 'Send less, or raise the limit (`limits` in agent.yaml, `HTTP_BODY_LIMIT`).',
  },
  upload_quota: {
    status: 413,
    errorType: 'UploadQuotaExceeded',
    when: 'The uploaded files of the caller, or of the tenant, have as many bytes as `limits` allows.',
    remedy: 'Delete files that are no longer needed, or raise the limit (`limits` in agent.yaml).',
  },
  unsupported_media_type: {
    status: 415,
    errorType: 'UnsupportedMediaType',
    when: 'The route does not accept the content type.',
    remedy: 'Send `content-type: application/json`.',
  },
  validation: {
    status: 422,
    errorType: 'ValidationError',
    when: 'The request does not have the shape that the route expects. Each fault has its place and a sentence.',
    remedy: 'Correct the named fields.',
  },
  rate_limited: {
    status: 429,
    errorType: 'RateLimited',
    when: 'The caller has reached a limit of `access.rate_limits`.',
    remedy: 'Wait for the seconds in `retry-after`.',
  },
  budget_exceeded: {
    status: 429,
    errorType: 'BudgetExceeded',
    when: 'A budget of agent.yaml cannot pay for a model call. `details` names the budget, and when it is whole again (`resets_at`).',
    remedy: 'Wait until `resets_at`, or let somebody with `budgets.write` raise the limit.',
  },
} as const satisfies Record<string, ErrorType>

/** Requests that do not fit the current state of the named object. */
const conflictErrors = {
  session_busy: {
    status: 409,
    errorType: 'SessionBusy',
    when: 'An earlier request of the session did not end within `limits.max_session_wait`.',
    remedy: 'Send the request again, with the same `request-id`.',
  },
  session_interrupted: {
    status: 409,
    errorType: 'SessionInterrupted',
    when: 'A run of the session waits for an approval, or for the output of a client tool.',
    remedy: 'Decide on its calls or send their outputs, or cancel the run: `DELETE /core/v1/runs/{request_id}`.',
  },
  request_id_reused: {
    status: 409,
    errorType: 'RequestIdReused',
    when: 'The `request-id` belongs to a request with another body, operation or session.',
    remedy: 'Use a new `request-id` for each new request.',
  },
  cancelled: {
    status: 409,
    errorType: 'Cancelled',
    when: 'The run was cancelled while the client waited for its answer.',
    remedy: 'Nothing; `GET /core/v1/runs/{request_id}` has what the run did.',
  },
  sub_agent_exists: {
    status: 409,
    errorType: 'SubAgentExists',
    when: 'The caller already has a sub-agent of this name.',
    remedy: 'Choose another name, or delete the sub-agent.',
  },
  sub_agent_limit: {
    status: 409,
    errorType: 'SubAgentLimit',
    when: 'The caller has as many sub-agents as `sub_agents.max` allows.',
    remedy: 'Delete a sub-agent.',
  },
  run_ended: {
    status: 409,
    errorType: 'RunEnded',
    when: 'The run to cancel, or to send a message to, has ended.',
    remedy: 'Nothing; send the message as a new chat of the session.',
  },
  run_not_ended: {
    status: 409,
    errorType: 'RunNotEnded',
    when: 'Feedback, another delivery of the callback, or an example is asked of a run that has not ended.',
    remedy: 'Wait for the end of the run.',
  },
  ambiguous_run: {
    status: 409,
    errorType: 'AmbiguousRun',
    when: 'An administrator names a run by an id that several callers of the tenant have used.',
    remedy: 'Add `?issuer=` and `&sub=` of its caller.',
  },
  not_interrupted: {
    status: 409,
    errorType: 'NotInterrupted',
    when: 'A decision or an output is sent for a run that does not wait for one.',
    remedy: 'Nothing; read the state of the run.',
  },
  already_decided: {
    status: 409,
    errorType: 'AlreadyDecided',
    when: 'The call has another decision already. The same decision again is answered with 200.',
    remedy: 'Nothing; the first decision counts.',
  },
  approval_required: {
    status: 409,
    errorType: 'ApprovalRequired',
    when: 'A tool whose calls need an approval is called directly, without a chat.',
    remedy: 'Let the agent call the tool in a chat, and decide on the call.',
  },
  definition_changed: {
    status: 409,
    errorType: 'DefinitionChanged',
    when: 'The definition of a tool changed again before it was accepted.',
    remedy: 'Read `GET /core/v1/tools/changed` again, and accept the new definition.',
  },
  callback_delivered: {
    status: 409,
    errorType: 'CallbackDelivered',
    when: 'Another delivery is asked for a callback that was delivered.',
    remedy: 'Nothing; `GET /core/v1/callbacks` shows the delivery.',
  },
  above_tenant_budget: {
    status: 409,
    errorType: 'AboveTenantBudget',
    when: "The limit for a caller would be above the limit of the caller's tenant.",
    remedy: "Set a lower limit, or let an administrator of the service raise the tenant's limit.",
  },
  schedule_limit: {
    status: 409,
    errorType: 'ScheduleLimit',
    when: 'The caller or the tenant has as many schedules as `schedules` of agent.yaml allows.',
    remedy: 'End a schedule that is no longer needed.',
  },
  schedule_ended: {
    status: 409,
    errorType: 'ScheduleEnded',
    when: 'The schedule to change, resume or trigger has ended.',
    remedy: 'Create a new schedule.',
  },
  session_exists: {
    status: 409,
    errorType: 'SessionExists',
    when: 'The caller has a session of this id already, with other messages or from another request.',
    remedy: 'Use the session, or choose another `session_id`.',
  },
  dataset_exists: {
    status: 409,
    errorType: 'DatasetExists',
    when: 'The tenant has a dataset of this name already.',
    remedy: 'Choose another name, or use the dataset.',
  },
  dataset_limit: {
    status: 409,
    errorType: 'DatasetLimit',
    when: 'The tenant has as many datasets, or the dataset as many examples, as `evals` of agent.yaml allows.',
    remedy: 'Delete what is no longer needed, or raise the limit.',
  },
  gate_not_passed: {
    status: 409,
    errorType: 'GateNotPassed',
    when: 'No experiment shows that the changed configuration passes `releases.gate` of the configuration in use. `details.reason` says what is missing, `details.config_hash` names the changed configuration.',
    remedy:
      'Run an experiment on `details.dataset` with the change as its candidate, and send the change again; or send `override` with a reason, which is recorded.',
  },
  gone: {
    status: 410,
    errorType: 'Gone',
    when: 'The session, run or link existed, and was deleted or has expired.',
    remedy: 'Use a new session or request id; ask for a new link.',
  },
  precondition_failed: {
    status: 412,
    errorType: 'PreconditionFailed',
    when: 'The configuration, or the schedule, is not the one that `if-match` names.',
    remedy: 'Read what is changed again, and repeat the change with its `etag`.',
  },
} as const satisfies Record<string, ErrorType>

/** Faults of the service, of the models, and of the servers behind the service. */
const serviceErrors = {
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

/** The errors of the service by their code. */
export const errorTypes = { ...requestErrors, ...conflictErrors, ...serviceErrors }

export type ErrorCode = keyof typeof errorTypes
