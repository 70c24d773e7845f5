import { until } from '../../test/fixtures/async-client.ts'
import type { Client } from '../../test/fixtures/service-client.ts'

export interface SentRun {
  id: string
  question: string
  door: 'chain' | 'stream' | 'async'
  isCancelled: boolean
  messages: SentMessage[]
}

export interface SentMessage {
  id: string
  run: string
  text: string
  mode: 'steer' | 'follow_up'
  /** Milliseconds after the chat. */
  afterMs: number
  /** Set when the message is acknowledged. */
  position?: number
  deliveredTo?: string
}

/** Waits for the ends of all runs, and resolves to the faults. */
export async function check(runs: readonly SentRun[], client: () => Client): Promise<string[]> {
  const faults: string[] = []
  for (const run of runs) faults.push(...(await checkRun(run, client)).map((fault) => `${run.id} (${run.door}): ${fault}`))
  return faults
}

async function checkRun(run: SentRun, client: () => Client): Promise<string[]> {
  await ended(run.id, client)
  const accepted = run.messages.filter(({ position }) => position !== undefined)
  const faults: string[] = []
  for (const message of accepted) {
    const list = await until(
      async () => (await client().request('GET', `/core/v1/runs/${run.id}/messages`)).body.messages as Listed[],
      (messages) => messages.find(({ message_id }) => message_id === message.id)?.delivered_at !== null,
      120_000,
    )
    const listed = list.filter(({ message_id }) => message_id === message.id)
    if (listed.length !== 1 || listed[0]!.position !== message.position) faults.push(`${message.id} is listed as ${JSON.stringify(listed)}`)
    message.deliveredTo = listed[0]?.delivered_to ?? ''
    await ended(message.deliveredTo, client)
    faults.push(...(await checkEvents(message, client)))
  }
  const { messages } = (await client().session(run.id)).body as { messages: { role: string; content: string }[] }
  const texts = messages.filter(({ role }) => role === 'human').map(({ content }) => content)
  // A run that is cancelled before it begins has no question in its session.
  const hasBegun = !run.isCancelled || texts.includes(run.question)
  const expected = [...(hasBegun ? [run.question] : []), ...accepted.map(({ text }) => text)]
  if (texts.toSorted().join('\n') !== expected.toSorted().join('\n'))
    faults.push(`the session has ${JSON.stringify(texts)} instead of ${JSON.stringify(expected)}`)
  for (const mode of ['steer', 'follow_up'] as const) {
    const sent = accepted.filter((message) => message.mode === mode).toSorted((a, b) => a.position! - b.position!)
    const places = sent.map(({ text }) => texts.indexOf(text))
    if (places.some((place, index) => index > 0 && place < places[index - 1]!))
      faults.push(`the messages are out of order: ${JSON.stringify(texts)}`)
  }
  return faults
}

interface Listed {
  message_id: string
  position: number
  delivered_at: string | null
  delivered_to: string
}

/** The log of the run has the message once; a run that begins with the message has the message as the question. */
async function checkEvents({ id, text, deliveredTo }: SentMessage, client: () => Client): Promise<string[]> {
  const run = (await client().run(deliveredTo!)).body
  let unread = ''
  const events = await (await client().follow(deliveredTo!)).rest().catch((error: unknown) => {
    unread = `, which could not be read: ${String(error)}`
    return []
  })
  const count = events.filter(({ chunk }) => (chunk as { user_message?: { message_id: string } }).user_message?.message_id === id).length
  const isQuestion = deliveredTo === id
  if (isQuestion && run.continues === undefined) return [`${id} has begun a run that continues none`]
  if (isQuestion && run.outcome && run.outcome.input !== text) return [`${id} has begun a run with another question`]
  return count === (isQuestion ? 0 : 1) ? [] : [`${id} is ${count} times in the log of ${deliveredTo} (${run.status})${unread}`]
}

function ended(id: string, client: () => Client): Promise<unknown> {
  return until(
    async () => (await client().run(id)).body,
    ({ ended_at }) => typeof ended_at === 'string',
    180_000,
  )
}
