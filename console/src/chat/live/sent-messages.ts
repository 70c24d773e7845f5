import { client } from '../../api/client.ts'
import { detailsOf, statusOf } from '../../api/errors.ts'
import { newId } from '../../api/ids.ts'
import type { Answer } from './answer.ts'
import type { LiveRun } from './live-run.ts'

/** `steer`: the run reads the message before its next model call. `follow_up`: the next run answers the message. */
export type MessageMode = 'steer' | 'follow_up'

/** A message to a run that goes on. */
export interface SentMessage {
  id: string
  text: string
  mode: MessageMode
}

/** Sends a message to a run. False for a run that has ended: the text becomes a new question. */
export async function steer(run: LiveRun, text: string, mode: MessageMode): Promise<boolean> {
  const message = { id: newId(), text, mode }
  run.sent.set([...run.sent.get(), message])
  for (let tries = 1; ; tries++) {
    try {
      await client.runs.steer(run.requestId, text, { mode, messageId: message.id })
      return true
    } catch (error) {
      // The chat may still be on its way.
      if (statusOf(error) === 404 && tries < maxTries) {
        await new Promise((resolve) => setTimeout(resolve, pauseMs))
        continue
      }
      run.sent.set(run.sent.get().filter(({ id }) => id !== message.id))
      if (detailsOf(error)?.error_type === 'RunEnded') return false
      throw error
    }
  }
}

const maxTries = 20
const pauseMs = 250

/** Loads the messages that wait for a run, after a reload of the page. */
export async function loadSent(run: LiveRun): Promise<void> {
  const list = await client.runs.messages(run.requestId).catch(() => undefined)
  const waiting = (list?.messages ?? []).filter(({ delivered_at }) => delivered_at === null)
  const loaded = waiting.map(({ message_id: id, message: text, mode }) => ({ id, text, mode }))
  run.sent.set([...loaded, ...run.sent.get()])
}

/** The messages that have not reached the run. */
export function waitingOf(sent: readonly SentMessage[], { parts }: Answer): readonly SentMessage[] {
  return sent.filter(({ id }) => !parts.some((part) => part.type === 'message' && part.id === id))
}
