import { setTimeout as sleep } from 'node:timers/promises'
import type { ChatKind, ChatMode } from '../history/operations.ts'
import { cancel, decideOrCancel } from './approver.ts'
import { follow, sendChat, type NewChat } from './chat.ts'
import { deleteSession } from './leaver.ts'
import { listRuns, listSessions, readRun, readSession } from './reads.ts'
import type { Load } from './service.ts'

const kinds: readonly ChatKind[] = ['talk', 'talk', 'read', 'write', 'write', 'both', 'seal']
const modes: readonly ChatMode[] = ['json', 'stream', 'async']
/** Number of chats in a private session. */
const chatsPerSession = 10

/** Sends chats sequentially, in private and shared sessions, and reads their results. */
export async function talk(client: string, load: Load): Promise<void> {
  const { random } = load
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!
  const positions = new Map<string, number>()
  let earlier: NewChat[] = []
  for (let n = 0; load.isActive(); n++) {
    const own = `own-${client}-${Math.floor(n / chatsPerSession)}`
    // A run without its approval holds the session, so a shared session has no such runs.
    const kind = pick(kinds)
    const session = kind !== 'seal' && random() < 0.25 ? `shared-${Math.floor(random() * 2)}-${Math.floor(n / chatsPerSession)}` : own
    const position = positions.get(session) ?? 0
    positions.set(session, position + 1)
    const fields = random() < 0.5 ? { on_disconnect: 'continue' } : {}
    const chat = { client, requestId: `${client}-${n}`, session, position, mode: pick(modes), kind, fields }
    earlier.push(chat)
    await converse(chat, load)
    for (let reads = 0; reads < 12; reads++) await readSomething(pick(earlier.slice(-30)), client, load)
    if (random() < 0.05) await sendChat(pick(earlier.slice(-5)), load)
    if ((n + 1) % chatsPerSession === 0 && random() < 0.2) {
      await deleteSession(client, own, load)
      earlier = earlier.filter((chat) => chat.session !== own)
    }
    await sleep(random() * 30)
  }
}

/** Sends a chat, and decides on its approval or cancels the run. */
async function converse(chat: NewChat, load: Load): Promise<void> {
  const { outcome, waits } = await sendChat(chat, load)
  if (outcome === 'waits') return decideOrCancel(chat, waits, load)
  if (outcome !== 'accepted') return
  if (load.random() < 0.1) {
    await sleep(load.random() * 500)
    await cancel(chat, load)
  } else if (chat.kind === 'seal') await decideOrCancel(chat, undefined, load)
}

async function readSomething({ requestId, session, mode }: NewChat, client: string, load: Load): Promise<void> {
  const { caller, random } = load
  const choice = random()
  if (choice < 0.4) await readSession(caller, client, session)
  else if (choice < 0.75) await readRun(caller, client, requestId)
  else if (choice < 0.85 && mode !== 'async')
    await follow({ requestId, reader: `${client} again ${random()}`, after: 0 }, load, { client, isBeyondPause: true })
  else await (choice < 0.92 ? listSessions(caller, client) : listRuns(caller, client))
}
