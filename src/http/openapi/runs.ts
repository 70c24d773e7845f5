import type { OperationTexts } from './operation-text.ts'

const whereId = 'Take a `request_id` from `GET /core/v1/runs`, or from the header `request-id` of a chat.'
const whose =
  'An administrator names the run of another caller by `issuer` and `sub`; where several match, the reply is 409 `AmbiguousRun`.'

export const runTexts: OperationTexts = {
  getRuns: {
    description: 'Use it to find a run by its state, tool, caller or time. For its answer, use `GET /core/v1/runs/{request_id}`.',
    parameters: {
      status: 'success',
      operation: 'chain',
      tool: 'sales',
      tool_errors: true,
      sub: 'ann',
      since: '2026-01-01',
      until: '2100-01-01',
    },
  },
  getRunsByRequestId: {
    description: `The state of a run and, once it has ended, its \`outcome\`: the same object as \`body\` of \`POST /core/v1/chain\`. Use it to poll an asynchronous chat, or to read an answer again. A run that failed has \`error\`, one that waits for decisions has \`approval_required\`, one that waits for its client \`client_tool_calls\`, one with a callback has \`callback\`.

${whereId} ${whose} A run is kept for \`retention.runs\` days; after its session is deleted, it is 410.`,
  },
  deleteRunsByRequestId: {
    description: `Stops a run and answers with it. What the run had so far is kept in its session.

${whereId} ${whose} A run that has ended is 409 \`RunEnded\`.`,
  },
  postRunsByRequestIdCallback: {
    description: `Makes one attempt at once, for a receiver that was away. The reply is the run, with the attempt in \`callback\`, whatever its result.

Take a \`request_id\` from \`GET /core/v1/callbacks?status=failed\`. A callback that was delivered is 409 \`CallbackDelivered\`, a run that has not ended 409 \`RunNotEnded\`, a run without a callback 404. A push notification of an A2A task, which has a \`config_id\`, is not sent again on request.`,
  },
  getRunsByRequestIdStream: {
    description: `The events of a run from the first one, or after the one that \`last-event-id\` names, then live until its end: nothing is lost or repeated. Use it after a broken connection, and to watch a run that somebody else started. The chunks are those of \`POST /core/v1/chain_streaming\`. 204 means that there are no further events.

${whereId} ${whose} A run that failed before its first event is answered with its error.`,
  },
  getRunsByRequestIdTrace: {
    description: `Use it to see why a run took its time, or what a model was asked. ${whereId} ${whose} A span that is not there is 404.`,
    parameters: { span: 'model:1' },
  },
  getCallbacks: {
    description: 'Use it to see which answers did not arrive, and why: `attempts` has the status of each.',
    parameters: { status: 'failed' },
  },
  getApprovals: {
    description:
      'Use it for an inbox of decisions, then decide with `POST /core/v1/runs/{request_id}/approvals`. Calls wait when their tool has `approval: required`, or when `approvals.effects` names their effect. The list of the sample agent is empty, since its tools ask for no approval.',
  },
  postRunsByRequestIdApprovals: {
    description: `Decides one waiting call, or gives the output of a client tool. After the last decision the run goes on, and its answer arrives where it was asked for: send the chat again with the same \`request-id\`, follow \`GET /core/v1/runs/{request_id}/stream\`, or wait for the callback.

Take \`request_id\` and \`tool_call_id\` from \`GET /core/v1/approvals\`. \`tool_input\` approves with another input; \`reason\` explains a rejection to the model.

A question of an MCP server waits as a call does. Its \`tool_input\` has \`server\`, \`question\`, and \`answer_schema\` or \`url\`. \`approve\` answers it, with the answer as \`tool_input\`, and \`reject\` declines.

A call of a client tool, listed in \`client_tool_calls\` of the answer, takes \`output\` (any JSON) or \`error\` (a text for the model), from the owner of the run alone, with the permission \`chat\`. Output over 20,000 characters is cut for the model.

- 404: there is no such call, or this key may not decide it.
- 409 \`NotInterrupted\`: the run does not wait. \`AlreadyDecided\`: another decision was made before; the same decision again is 200.
- 422: \`tool_input\` does not fit the tool, or the \`answer_schema\` of the question; or the decision is of the other kind.`,
    requests: {
      'application/json': {
        approve: {
          summary: 'Approve a call',
          value: { tool_call_id: '01a20017-987c-796c-bd1d-309ce67be88f', decision: 'approve' },
        },
        reject: {
          summary: 'Reject a call with a reason',
          value: { tool_call_id: '01a20017-987c-796c-bd1d-309ce67be88f', decision: 'reject', reason: 'Use the shared folder instead.' },
        },
        output: {
          summary: 'The output of a client tool',
          value: { tool_call_id: '01a20017-987c-796c-bd1d-309ce67be88f', decision: 'output', output: { city: 'Basel' } },
        },
      },
    },
  },
  postRunsByRequestIdFeedback: {
    description: `Stores a score for the answer of a run. A comment is read by the \`small\` model, which keeps lessons from it as memories of the caller. A second rating of the same run replaces the first.

${whereId} A run that has not ended is 409 \`RunNotEnded\`.`,
    requests: {
      'application/json': {
        feedback: {
          summary: 'A good answer, with a comment',
          value: { score: 1, comment: 'A short answer with its source, as it should be.' },
        },
      },
    },
  },
}
