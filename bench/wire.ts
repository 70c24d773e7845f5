/** Answers of the scripted model as prebuilt bytes, in the format of a chat-completions server. */

const id = 'chatcmpl-bench'

function event(choices: unknown[], extraFields: object = {}): string {
  return `data: ${JSON.stringify({ id, object: 'chat.completion.chunk', created: 1_700_000_000, model: 'bench', choices, ...extraFields })}\n\n`
}

function delta(delta: object, finish: string | null = null): string {
  return event([{ index: 0, delta, finish_reason: finish }])
}

/** Encodes a chunk of the chunked transfer coding (RFC 9112, section 7.1). */
function chunk(text: string): Buffer {
  return Buffer.from(`${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`)
}

const usage = { prompt_tokens: 40, completion_tokens: 8, total_tokens: 48 }

function tail(finish: 'stop' | 'tool_calls'): string {
  return `${delta({}, finish)}${event([], { usage })}data: [DONE]\n\n`
}

/** Text of every token. Readers count tokens by counting this text. */
export const tokenText = ' token'

const headers = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n'
const last = Buffer.from('0\r\n\r\n')

export const opening = Buffer.concat([Buffer.from(headers), chunk(delta({ role: 'assistant', content: '' }))])
export const token = chunk(delta({ content: tokenText }))
export const closing = Buffer.concat([chunk(tail('stop')), last])

/** Short answer of eight tokens, written at once. */
export const shortAnswer = Buffer.concat([opening, chunk(delta({ content: tokenText }).repeat(8)), closing])

const message = { role: 'assistant', content: tokenText.repeat(8) }
const completion = { id, object: 'chat.completion', created: 1_700_000_000, model: 'bench', usage }
const json = JSON.stringify({ ...completion, choices: [{ index: 0, message, finish_reason: 'stop' }] })

/** The short answer as JSON, for requests that do not ask for a stream. */
export const jsonAnswer = Buffer.from(`HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${json.length}\r\n\r\n${json}`)

/** Builds an answer with `count` calls of `current_time`. */
export function toolAnswer(count: number): Buffer {
  const calls = Array.from({ length: count }, (_, index) => ({
    index,
    id: `call_${index}`,
    type: 'function',
    function: { name: 'current_time', arguments: '{}' },
  }))
  return Buffer.concat([opening, chunk(delta({ tool_calls: calls }) + tail('tool_calls')), last])
}
