import type { TestContext } from 'node:test'
import { startModelServer, type ModelServerRequest } from '../../test/fixtures/model-server.ts'

/** USD per million tokens. */
export const prices = { input: 1, output: 3 }
const usage = { input: 2, output: 300 }
/** 10^-9 USD of each answer. */
const cost = 1000 * (usage.input * prices.input + usage.output * prices.output)

/** Which requests the model holds back for ever: none, some of those of earlier lives, or all. */
type Holding = 'none' | 'some' | 'all'

/**
 * A model that counts what its answers cost, and holds requests back. The question of a chat is `<request id> <kind>`: the kind `answered` is
 * always answered, and `tool` calls the calculator before the answer. `isOld`: true for the request id of a chat of an earlier life of the service.
 */
export async function startHoldingModel(scope: Pick<TestContext, 'after'>, isOld: (requestId: string) => boolean, random: () => number) {
  const state = { counted: 0, answered: 0, held: [] as string[], holding: 'some' as Holding }

  function isHeld(requestId: string, isAnswered: boolean): boolean {
    if (state.holding !== 'some') return state.holding === 'all'
    return !isAnswered && (!isOld(requestId) || random() < 0.5)
  }

  const model = await startModelServer(({ body }: ModelServerRequest) => {
    const { messages } = body as { messages: { role: string; content: string }[] }
    const asked = messages.findLastIndex(({ role }) => role === 'user')
    const [requestId = '', kind] = messages[asked]!.content.split(' ')
    const calls = kind === 'tool' && asked === messages.length - 1 ? [{ name: 'calculator', arguments: '{"expression":"2+2"}' }] : undefined
    if (isHeld(requestId, kind === 'answered' || calls !== undefined)) {
      state.held.push(requestId)
      return { begins: new Promise<void>(() => {}) }
    }
    state.counted += cost
    state.answered++
    return { ...(calls ? { calls } : { text: 'Four.' }), usage }
  })
  scope.after(() => model.close())
  return Object.assign(state, { url: model.url })
}
