import type { ErrorType } from './error-type.ts'

/** Requests that do not fit the current state of what they name. */
export const conflictErrors = {
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
    when: 'The run to cancel has ended.',
    remedy: 'Nothing.',
  },
  run_not_ended: {
    status: 409,
    errorType: 'RunNotEnded',
    when: 'Feedback, or another delivery of the callback, is asked for a run that has not ended.',
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
  gone: {
    status: 410,
    errorType: 'Gone',
    when: 'The session, run or link existed, and was deleted or has expired.',
    remedy: 'Use a new session or request id; ask for a new link.',
  },
  precondition_failed: {
    status: 412,
    errorType: 'PreconditionFailed',
    when: 'The configuration is not the one that `if-match` names.',
    remedy: 'Read the configuration again, and repeat the change with its `etag`.',
  },
} as const satisfies Record<string, ErrorType>
