import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from '../../test/fixtures/service-client.ts'
import type { Chat, Ledger } from './script.ts'

interface Message {
  role: string
  content: string
}

/** Time in which accepted runs must end after a start. */
const settleMs = 60_000

/** Compares the stored data of the service with the acknowledged data. Returns the differences in words. */
export async function verify(client: Client, { chats, uploads, descriptions }: Ledger): Promise<string[]> {
  const wrong: string[] = []
  await settled(client, wrong)
  for (const [sessionId, ofSession] of Map.groupBy(chats, (chat) => chat.sessionId)) {
    const { status, body } = await client.session(sessionId)
    const messages: Message[] = status === 404 ? [] : body.messages
    wrong.push(...ofSession.flatMap((chat) => faultsOf(chat, messages).map((fault) => `${fault}: ${chat.requestId}, ${chat.mode}`)))
    const expected = ofSession.map(({ question }) => question).filter((question) => messages.some(({ content }) => content === question))
    const found = messages.filter(({ role }) => role === 'human').map(({ content }) => content)
    if (expected.join('|') !== found.join('|')) wrong.push(`messages are out of order: ${sessionId}`)
  }
  for (const chat of chats.filter(({ isAcknowledged, file }) => isAcknowledged && file !== undefined))
    if (!(await hasFile(client, chat))) wrong.push(`the file of an acknowledged chat is lost: ${chat.requestId}`)
  for (const { id, text } of uploads) {
    const reply = await client.request('GET', `/v1/files/${id}/content`)
    if (reply.text !== text) wrong.push(`an upload is lost: ${id}: ${reply.status}`)
  }
  const { body } = await client.request('GET', '/core/v1/agent/config')
  const from = descriptions.findLastIndex(({ isAcknowledged }) => isAcknowledged)
  const possible = descriptions.slice(Math.max(0, from)).map(({ text }) => text)
  if (from >= 0 && !possible.includes(body.configuration?.description ?? body.description))
    wrong.push(`a change of the configuration is lost: ${JSON.stringify(body).slice(0, 200)}`)
  return wrong
}

/** Waits until no run is under way. */
async function settled(client: Client, wrong: string[]): Promise<void> {
  const until = Date.now() + settleMs
  for (;;) {
    const replies = await Promise.all(['running', 'pending'].map((status) => client.request('GET', `/core/v1/runs?status=${status}`)))
    const left = replies.flatMap(({ body }) => body.runs as { request_id: string }[])
    if (left.length === 0) return
    if (Date.now() > until) return void wrong.push(`runs are stuck: ${left.map(({ request_id: id }) => id).join(', ')}`)
    await sleep(200)
  }
}

/** An acknowledged chat is there once, with the answer; any further chat at most once. An accepted async chat has ended with an answer. */
function faultsOf({ question, answer, isAcknowledged }: Chat, messages: readonly Message[]): string[] {
  const places = messages.flatMap(({ role, content }, index) => (role === 'human' && content === question ? [index] : []))
  if (places.length > 1) return ['a message is there twice']
  if (places.length === 0) return isAcknowledged ? ['an acknowledged message is lost'] : []
  const next = messages[places[0]! + 1]
  const isAnswered = next?.role === 'ai' && (next.content.replaceAll(/[,\s]/g, '').includes(answer) || honestFailure.test(next.content))
  return isAnswered || !isAcknowledged ? [] : [`an acknowledged answer is lost: ${JSON.stringify(next ?? null).slice(0, 200)}`]
}

/** True where the file can be downloaded, or the answer says that it was not made. */
async function hasFile(client: Client, { requestId, file }: Chat): Promise<boolean> {
  const { body } = await client.run(requestId)
  const { output, generated_artifacts: artifacts } = (body.outcome ?? {}) as {
    output?: string
    generated_artifacts?: { download_url: string }[]
  }
  if (output !== undefined && honestFailure.test(output)) return true
  const [artifact] = artifacts ?? []
  if (!artifact) return false
  const { pathname, search } = new URL(artifact.download_url)
  return (await client.request('GET', pathname + search)).text.includes(file!)
}

/** The text of an answer whose tool failed or was cut off. */
const honestFailure = /could not be kept|outcome of this call is unknown/
