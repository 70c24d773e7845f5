import type { OperationTexts } from './named.ts'

export const runTexts: OperationTexts = {
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
}
