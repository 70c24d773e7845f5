interface Message {
  role: 'human' | 'ai'
  content: string
  /** Present on a message to a run that went on. */
  message_id?: string
  response_metadata?: { request_id?: string }
}

/** The place of a run's question in its conversation: before the answer of the run, else the latest question that begins with `start`. */
export function indexOfQuestion(messages: readonly Message[], requestId: string, start: string): number {
  const answer = messages.findIndex((message) => message.response_metadata?.request_id === requestId)
  const asked = messages.findLastIndex(({ role, message_id: id }, index) => index < answer && role === 'human' && id === undefined)
  if (asked !== -1) return asked
  const question = messages.findLastIndex(({ role, content }) => role === 'human' && content.startsWith(start))
  return question === -1 ? messages.length : question
}
