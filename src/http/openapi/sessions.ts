import type { OperationTexts } from './operation-text.ts'

const whereId = 'Take a `session_id` from `GET /core/v1/sessions`, or from the header `session-id` of a chat.'

export const sessionTexts: OperationTexts = {
  getSessions: {
    description: 'Use it for the list of conversations beside a chat. An unknown session id in `before` is 422.',
    parameters: { q: 'sales region' },
  },
  getSessionsBySessionId: {
    description: `The whole conversation: human and ai messages in order, each answer with its steps, usage and files in \`response_metadata\`. The place of a message in \`messages\` is its \`message_index\` everywhere, and never changes.

${whereId} A session of another caller is 404, except for administrators of the tenant.`,
  },
  deleteSessionsBySessionId: {
    description: `Cancels the runs of the session, then deletes its messages, runs and files, and the memories that came from it alone. This cannot be undone. Later requests for the session or its runs are 410 for \`retention.deleted_sessions\` days.

${whereId}`,
  },
  postSessionsBySessionIdFork: {
    description: `Copies the messages before \`message_index\` into a new session of the caller. Use it to try another question at some point of a conversation; 2 is after the first answer.

${whereId} An index beyond the messages is 422.`,
    requests: { 'application/json': { fork: { summary: 'Everything up to the first answer', value: { message_index: 2 } } } },
  },
}
