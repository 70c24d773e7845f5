import { setTimeout as sleep } from 'node:timers/promises'
import type { TestContext } from 'node:test'
import { startModelServer, type ModelAnswer, type ModelServerRequest } from '../../test/fixtures/model-server.ts'

interface WireMessage {
  role: string
  content: string
  tool_calls?: { id: string }[]
  tool_call_id?: string
}

/**
 * A model that takes some time, and checks each request: every tool call has a result directly behind the call. The word `tool` in the
 * last message of a person makes a call of the tool `slow`, and `ask` makes a call that waits for an approval.
 */
export async function startSlowModel(scope: Pick<TestContext, 'after'>, random: () => number) {
  const state = { requests: 0, faults: [] as string[] }

  function answer({ body }: ModelServerRequest): ModelAnswer {
    const messages = body.messages as WireMessage[]
    state.requests++
    if (!arePaired(messages))
      state.faults.push(`a message stands between a call and its result: ${messages.map(({ role }) => role).join(' ')}`)
    const last = messages.at(-1)!
    const word = last.role === 'user' ? (/\b(tool|ask)\b/.exec(last.content.split('\n').at(-1) ?? '')?.[1] ?? 'plain') : 'plain'
    const isOffered = body.tools !== undefined && body.tool_choice !== 'none'
    const begins = sleep(Math.floor(random() * 120))
    if (word !== 'plain' && isOffered)
      return { begins, text: 'I look.', calls: [{ name: word === 'ask' ? 'ask_first' : 'slow', arguments: '{}' }] }
    return { begins, text: ['An ', 'answer', '.'], pauseMs: Math.floor(random() * 30) }
  }

  const model = await startModelServer(answer)
  scope.after(() => model.close())
  return Object.assign(state, { url: model.url })
}

function arePaired(messages: readonly WireMessage[]): boolean {
  return messages.every((message, index) => {
    const calls = message.tool_calls ?? []
    const results = messages.slice(index + 1, index + 1 + calls.length)
    return calls.every(({ id }, n) => results[n]?.role === 'tool' && results[n].tool_call_id === id)
  })
}
