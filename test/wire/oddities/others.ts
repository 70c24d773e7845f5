import { frame } from '../providers/event-frames.ts'
import { joined, text, type Oddity } from './oddity.ts'
import { sign, sse } from '../wire.ts'

/** Oddities of Gemini, Claude, Bedrock and the responses API. */

const gemini = (parts: object[], rest: object = {}) => ({ candidates: [{ content: { role: 'model', parts }, index: 0, ...rest }] })

const googleRows: Oddity[] = [
  {
    name: 'line ends of two characters',
    response: { bytes: joined(gemini([{ text }]), gemini([], { finishReason: 'STOP' })).replaceAll('\n', '\r\n') },
    output: text,
  },
  {
    name: 'an end without parts',
    response: { bytes: joined(gemini([{ text }]), { candidates: [{ finishReason: 'STOP', index: 0 }] }) },
    output: text,
  },
  {
    name: 'a call behind an end reason of a text',
    calls: [{ at: 'sky' }],
    response: {
      bytes: joined(
        gemini([{ functionCall: { name: 'look', args: { at: 'sky' } }, thoughtSignature: sign('google', 'look{"at":"sky"}') }], {
          finishReason: 'STOP',
        }),
      ),
    },
  },
  {
    name: 'an unexpected call',
    response: { bytes: joined({ candidates: [{ finishReason: 'UNEXPECTED_TOOL_CALL', index: 0 }] }) },
    isAskedAgain: true,
  },
  {
    name: 'a malformed call',
    response: { bytes: joined({ candidates: [{ finishReason: 'MALFORMED_FUNCTION_CALL', index: 0 }] }) },
    isAskedAgain: true,
  },
  {
    name: 'a wait in the body of a refusal',
    isAskedAgain: true,
    response: {
      status: 429,
      contentType: 'application/json',
      bytes: JSON.stringify({
        error: {
          code: 429,
          message: 'Quota exceeded',
          details: [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '0.1s' }],
        },
      }),
    },
  },
].map((row) => ({ provider: 'google', ...row }) as Oddity)

const event = (data: { type: string } & Record<string, unknown>): string => sse(data, data.type).toString()
const claude = (...events: ({ type: string } & Record<string, unknown>)[]): string =>
  [
    {
      type: 'message_start',
      message: { id: 'm', type: 'message', role: 'assistant', model: 'm', content: [], usage: { input_tokens: 1, output_tokens: 1 } },
    },
    ...events,
  ]
    .map(event)
    .join('')
const claudeText = [
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } },
  { type: 'content_block_stop', index: 0 },
]
const claudeEnd = [{ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 1 } }, { type: 'message_stop' }]

const claudeRows: Oddity[] = [
  {
    name: 'line ends of two characters and pings',
    response: { bytes: claude({ type: 'ping' }, ...claudeText, { type: 'ping' }, ...claudeEnd).replaceAll('\n', '\r\n') },
    output: text,
  },
  {
    name: 'an overload inside of the stream',
    response: { bytes: claude({ type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }) },
    isAskedAgain: true,
  },
  { name: 'an end inside of a block', response: { bytes: claude(...claudeText.slice(0, 2)) }, isAskedAgain: true },
  {
    name: 'an overload as a status',
    response: { status: 529, contentType: 'application/json', bytes: '{"type":"error","error":{"type":"overloaded_error"}}' },
    isAskedAgain: true,
  },
].map((row) => ({ provider: 'anthropic', ...row }) as Oddity)

const bedrockRows: Oddity[] = [
  {
    name: 'an exception inside of the stream',
    provider: 'bedrock',
    isAskedAgain: true,
    response: {
      bytes: Buffer.concat([
        frame('messageStart', { role: 'assistant' }),
        frame('throttlingException', { message: 'Too many requests' }, 'exception'),
      ]),
    },
  },
  {
    name: 'an end inside of a frame',
    provider: 'bedrock',
    isAskedAgain: true,
    response: {
      bytes: Buffer.concat([
        frame('messageStart', { role: 'assistant' }),
        frame('messageStop', { stopReason: 'end_turn' }).subarray(0, 20),
      ]),
    },
  },
]

const response = { id: 'resp_1', object: 'response', created_at: 1, model: 'm', output: [], usage: { input_tokens: 1, output_tokens: 1 } }
const openItem = { type: 'message', id: 'msg_1', role: 'assistant', status: 'in_progress', content: [] }
const openai = (...events: ({ type: string } & Record<string, unknown>)[]): string =>
  [{ type: 'response.created', response: { ...response, status: 'in_progress' } }, ...events]
    .map((data, index) => event({ ...data, sequence_number: index }))
    .join('')
const openaiText = [
  { type: 'response.output_item.added', output_index: 0, item: openItem },
  { type: 'response.output_text.delta', output_index: 0, item_id: 'msg_1', content_index: 0, delta: text },
  {
    type: 'response.output_item.done',
    output_index: 0,
    item: { ...openItem, status: 'completed', content: [{ type: 'output_text', text, annotations: [] }] },
  },
]
const completed = { type: 'response.completed', response: { ...response, status: 'completed' } }

const responsesRows: Oddity[] = [
  {
    name: 'events that nobody knows',
    response: { bytes: openai({ type: 'response.queued', response }, ...openaiText, { type: 'response.new_thing', x: 1 }, completed) },
    output: text,
  },
  {
    name: 'line ends of two characters and comments',
    response: { bytes: `: hi\n\n${openai(...openaiText, completed)}`.replaceAll('\n', '\r\n') },
    output: text,
  },
  {
    name: 'a call that comes whole',
    calls: [{ at: 'sky' }],
    response: {
      bytes: openai(
        {
          type: 'response.output_item.added',
          output_index: 0,
          item: { type: 'function_call', id: 'fc_p1_0', call_id: 'call_1', name: 'look', arguments: '', status: 'in_progress' },
        },
        {
          type: 'response.output_item.done',
          output_index: 0,
          item: { type: 'function_call', id: 'fc_p1_0', call_id: 'call_1', name: 'look', arguments: '{"at":"sky"}', status: 'completed' },
        },
        completed,
      ),
    },
  },
  {
    name: 'an error inside of the stream',
    response: { bytes: openai({ type: 'error', code: 'server_error', message: 'The server had an error', param: null }) },
    isAskedAgain: true,
  },
  {
    name: 'a response that failed',
    response: {
      bytes: openai({
        type: 'response.failed',
        response: { ...response, status: 'failed', error: { code: 'server_error', message: 'Sorry' } },
      }),
    },
    isAskedAgain: true,
  },
  { name: 'an end without a last event', response: { bytes: openai(...openaiText) }, isAskedAgain: true },
].map((row) => ({ provider: 'openai-responses', ...row }) as Oddity)

export const otherOddities: readonly Oddity[] = [...googleRows, ...claudeRows, ...bedrockRows, ...responsesRows]
