import { client } from '../api/client.ts'
import { indexOfQuestion } from './index-of-question.ts'

/** Copies the messages before an index into a new session, and returns its id. */
export async function forkSession(sessionId: string, messageIndex: number): Promise<string> {
  const fork = await client.request('POST', '/core/v1/sessions/{session_id}/fork', {
    path: { session_id: sessionId },
    body: { message_index: messageIndex },
  })
  return fork.session_id
}

/** The whole question of a run, which begins with `start`, and the place of the question in its session. */
export async function findQuestion(run: { session_id: string; request_id: string }, start: string) {
  const { messages } = await client.request('GET', '/core/v1/sessions/{session_id}', { path: { session_id: run.session_id } })
  const index = indexOfQuestion(messages, run.request_id, start)
  return { question: messages[index]?.content ?? start, index: messages[index]?.message_index ?? index }
}
