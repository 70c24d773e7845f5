import { joined, text, type Oddity } from './oddity.ts'

/** Oddities of servers with chat completions. */

type Delta = Record<string, unknown>

const chunk = (delta: Delta, finish: string | null = null, rest: object = {}): object => ({
  id: 'c',
  object: 'chat.completion.chunk',
  choices: [{ index: 0, delta, finish_reason: finish }],
  ...rest,
})
const [head, tail] = [chunk({ content: 'Red – ' }), chunk({ content: '🟥.' })]
const stop = chunk({}, 'stop')
const plain = joined(head, tail, stop, '[DONE]')
const usage = { prompt_tokens: 1, completion_tokens: 1 }
const call = (fields: object) => chunk({ tool_calls: [fields] })
const look = (at: string) => ({ name: 'look', arguments: JSON.stringify({ at }) })

function chat(name: string, bytes: string, rest: Partial<Oddity> = { output: text }): Oddity {
  return { name, provider: 'vllm', response: { bytes }, ...rest }
}

const chatRows: Oddity[] = [
  chat('line ends of two characters', plain.replaceAll('\n', '\r\n')),
  chat('comments and empty lines between events', `: OPENROUTER PROCESSING\n\n${plain.replaceAll('\n\n', '\n\n: ping\n\n\n')}`),
  chat('no space after the name of the field', plain.replaceAll('data: ', 'data:')),
  chat('fields of events that nobody needs', plain.replaceAll('data: ', 'event: message\nid: 7\nretry: 10\ndata: ')),
  chat('no end mark', joined(head, tail, stop)),
  chat('usage before the text', joined({ choices: [], usage }, head, tail, stop, '[DONE]')),
  chat('usage in every chunk', joined(chunk({ content: text }, null, { usage }), chunk({}, 'stop', { usage }), '[DONE]')),
  chat(
    'a chunk without choices, and null for absent fields',
    joined({ id: 'c' }, chunk({ role: 'assistant', content: null, tool_calls: null }), head, tail, stop),
  ),
  chat('text in the chunk with the finish reason', joined(head, chunk({ content: '🟥.' }, 'stop'), '[DONE]')),
  chat('thoughts in tags', joined(chunk({ content: '<thi' }), chunk({ content: 'nk>Hm.</think>\n\n' }), head, tail, stop)),
  chat('a refusal in its own field', joined(chunk({ refusal: text }), stop, '[DONE]')),
  chat(
    'a whole answer instead of a stream',
    JSON.stringify({ choices: [{ message: { role: 'assistant', content: text }, finish_reason: 'stop' }], usage }),
    {
      output: text,
      response: {
        contentType: 'application/json',
        bytes: JSON.stringify({ choices: [{ message: { role: 'assistant', content: text }, finish_reason: 'stop' }], usage }),
      },
    },
  ),
  chat(
    'calls without index',
    joined(call({ id: 'a', function: look('sky') }), call({ id: 'b', function: look('sea') }), chunk({}, 'tool_calls')),
    {
      calls: [{ at: 'sky' }, { at: 'sea' }],
    },
  ),
  chat(
    'calls with the same id',
    joined(call({ index: 0, id: 'a', function: look('sky') }), call({ index: 1, id: 'a', function: look('sea') }), chunk({}, 'tool_calls')),
    { calls: [{ at: 'sky' }, { at: 'sea' }] },
  ),
  chat('a call without id, with the finish reason of a text', joined(call({ index: 0, function: look('sky') }), stop), {
    calls: [{ at: 'sky' }],
  }),
  chat(
    'arguments as an object',
    joined(call({ index: 0, id: 'a', function: { name: 'look', arguments: { at: 'sky' } } }), chunk({}, 'tool_calls')),
    {
      calls: [{ at: 'sky' }],
    },
  ),
  chat('a lack of resources as finish reason', joined(chunk({}, 'insufficient_system_resource')), { isAskedAgain: true }),
  chat(
    'an error in a chunk behind the finish reason',
    joined(chunk({}, 'length'), { error: { code: 502, message: 'Provider returned error' }, choices: [] }),
    {
      isAskedAgain: true,
    },
  ),
  chat('an end without a finish reason', joined(head), { isAskedAgain: true }),
]

const groqRow: Oddity = {
  name: 'a call that the server itself refuses',
  provider: 'groq',
  isAskedAgain: true,
  response: {
    status: 400,
    contentType: 'application/json',
    bytes: JSON.stringify({
      error: { message: 'Failed to call a function.', code: 'tool_use_failed', failed_generation: '<function=look>' },
    }),
  },
}

export const chatOddities: readonly Oddity[] = [...chatRows, groqRow]
