import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { TestContext } from 'node:test'
import { event, sendEvent, until } from '../../test/fixtures/async-client.ts'
import { makeFolder, serve, type RunningService } from '../../test/fixtures/process.ts'
import type { Client, Reply } from '../../test/fixtures/service-client.ts'
import { databases } from '../kills/databases.ts'
import { check, type SentRun } from './check.ts'
import { startSlowModel } from './model.ts'

export interface SteerOptions {
  database: keyof typeof databases
  runs: number
  /** Times that the service is killed meanwhile. */
  kills: number
  /** Numbers from 0 to 1. */
  random(): number
}

export interface SteerReport {
  /** Counts of messages: acknowledged, delivered to the addressed run, and answered by a new run. */
  accepted: number
  delivered: number
  continued: number
  /** Messages that came too late. */
  refused: number
  faults: string[]
}

const slowTool = `export default {
  description: 'Takes some time.', effect: 'read', schema: { type: 'object' },
  async execute() { await new Promise((resolve) => setTimeout(resolve, 20 + Math.random() * 150)); return 'seen' },
}`

/** Runs that go on at the same time. */
const parallel = 16

/**
 * Sends messages to runs at random moments, while the service is killed again and again. Then looks for each acknowledged message: the
 * message is in the session once, and in order, whether the run has read the message or the next run answers.
 */
export async function steerWhileKilling(scope: Pick<TestContext, 'after'>, options: SteerOptions): Promise<SteerReport> {
  const { runs, kills, random } = options
  const { environment } = await databases[options.database](scope)
  const folder = await makeFolder(scope)
  const model = await startSlowModel(scope, random)
  await writeFile(path.join(folder, 'slow.mjs'), slowTool)
  const primary = { provider: 'openai-compatible', model: 'scripted', base_url: model.url }
  const module = { type: 'module', config: { path: './slow.mjs' } }
  const tools = [
    { name: 'slow', ...module },
    { name: 'ask_first', ...module, approval: 'required' },
  ]
  await writeFile(
    path.join(folder, 'agent.yaml'),
    JSON.stringify({ llms: { primary }, tools, max_iterations: 3, limits: { reconnect_grace: 2 } }),
  )

  let service: RunningService = await serve(scope, folder, environment)
  const client = () => service.client
  const sent: SentRun[] = []
  let isOver = false
  const killing = (async () => {
    for (let kill = 0; kill < kills; kill++) {
      const share = Math.floor((runs * (kill + 1)) / (kills + 1))
      await until(
        async () => sent.length,
        (count) => count >= share,
        600_000,
      )
      await sleep(random() * 300)
      service.child.kill('SIGKILL')
      await service.ended
      service = await serve(scope, folder, environment)
    }
  })()
  const deciding = decideAll(client, random, () => isOver)
  const waiting = Array.from({ length: runs }, (_, n) => n)
  const work = async () => {
    for (let n = waiting.shift(); n !== undefined; n = waiting.shift()) {
      const run = plan(n, random)
      sent.push(run)
      await steerOne(run, client, random)
    }
  }
  await Promise.all([killing, ...Array.from({ length: parallel }, work)])
  const faults = [...model.faults, ...(await check(sent, client))]
  isOver = true
  await deciding
  const messages = sent.flatMap((run) => run.messages)
  const accepted = messages.filter(({ position }) => position !== undefined)
  const delivered = accepted.filter(({ deliveredTo, run }) => deliveredTo === run).length
  return {
    accepted: accepted.length,
    delivered,
    continued: accepted.length - delivered,
    refused: messages.length - accepted.length,
    faults,
  }
}

function plan(n: number, random: () => number): SentRun {
  const id = `run-${n}`
  const pick = <T>(all: readonly T[]): T => all[Math.floor(random() * all.length)]!
  const messages = Array.from({ length: 1 + Math.floor(random() * 3) }, (_, index) => ({
    id: `${id}-message-${index}`,
    run: id,
    text: `${id}-message-${index} ${pick(['plain', 'plain', 'tool'])}`,
    mode: pick(['steer', 'steer', 'follow_up'] as const),
    afterMs: random() * 500,
  }))
  const kind = pick(['plain', 'tool', 'tool', 'ask'])
  return { id, question: `${id} ${kind}`, door: pick(['chain', 'stream', 'async'] as const), isCancelled: random() < 0.08, messages }
}

/** Sends the chat of a run and its messages, each until there is an answer. */
async function steerOne(run: SentRun, client: () => Client, random: () => number): Promise<void> {
  const headers = { 'request-id': run.id, 'session-id': run.id }
  const body = { messages: [{ role: 'user', content: run.question }] }
  const chat = { ...body, on_disconnect: 'continue' }
  const open = {
    chain: () => client().chat(chat, headers),
    stream: async () => (await client().stream(chat, headers)).rest(),
    async: () => sendEvent(client(), event(run.id, body), headers),
  }[run.door]
  const asking = again(async () => void (await open()))
  await Promise.all([
    asking,
    ...run.messages.map(async (message) => {
      await sleep(message.afterMs)
      const reply = await again(() => sendMessage(client(), run.id, message))
      if (reply.status === 202) message.position = reply.body.position
      else if (reply.status !== 409 || reply.body.details.error_type !== 'RunEnded') throw new Error(`${run.id}: ${reply.text}`)
    }),
    run.isCancelled &&
      sleep(random() * 400).then(() =>
        client()
          .request('DELETE', `/core/v1/runs/${run.id}`)
          .catch(() => undefined),
      ),
  ])
}

async function sendMessage(client: Client, run: string, { id, text, mode }: SentRun['messages'][number]): Promise<Reply> {
  const body = { message: text, mode }
  const reply = await client.request('POST', `/core/v1/runs/${run}/messages`, { body, headers: { 'request-id': id } })
  // The run is not stored yet, or the process starts.
  if (reply.status === 404 || reply.status >= 500) throw new Error(reply.text)
  return reply
}

/** Repeats what a killed process has cut off. */
async function again<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 0; ; tries++) {
    try {
      return await work()
    } catch (error) {
      if (tries > 400) throw error
      await sleep(50)
    }
  }
}

/** Decides on the calls that wait, as they come. */
async function decideAll(client: () => Client, random: () => number, isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    const list = await client()
      .request('GET', '/core/v1/approvals')
      .catch(() => undefined)
    for (const call of list?.body?.approvals ?? []) {
      const body = { tool_call_id: call.tool_call_id, decision: random() < 0.7 ? 'approve' : 'reject' }
      await client()
        .request('POST', `/core/v1/runs/${call.request_id}/approvals`, { body })
        .catch(() => undefined)
    }
    await sleep(50)
  }
}
