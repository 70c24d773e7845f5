import { createAnswerView } from './answer-view.ts'
import { CommandFailure, type Terminal } from '../terminal.ts'
import { decideCalls, howToDecide, type Person } from './approvals.ts'
import { formatTable } from '../table.ts'
import { withoutControls } from './markdown-stream.ts'
import { newId, type ServiceClient } from './service-client.ts'
import { decideWaiting } from './waiting-calls.ts'

/** A conversation in one session at a time. `person` is asked for approval where a call needs it; absent: nobody is there to be asked. */
export interface Conversation {
  /** Puts a question, whatever it begins with. */
  ask(text: string, person?: Person): Promise<'done' | 'failed'>
  /** Puts a question, or obeys a command that begins with `/`. `quit`: the conversation is over. */
  say(line: string, person?: Person): Promise<'done' | 'failed' | 'quit'>
  /** Cancels the answer that is under way: the first time at the service, the second by leaving. False where there is none. */
  cancel(): boolean
}

export interface ConversationOptions {
  client: ServiceClient
  terminal: Terminal
  sessionId?: string | undefined
}

const help = [
  '/new        begin another session',
  '/tools      list the tools',
  '/approvals  list the calls that wait for approval, and decide yours',
  '/quit       end (as Ctrl-D does)',
]

export function createConversation({ client, terminal, sessionId = newId() }: ConversationOptions): Conversation {
  const { stdout, stderr } = terminal
  let session = sessionId
  let running: { requestId: string; leaving: AbortController; cancelled: AbortController; cancelling?: Promise<void> } | undefined
  let deciding: AbortController | undefined

  async function ask(text: string, person?: Person): Promise<'done' | 'failed'> {
    const requestId = newId()
    const leaving = new AbortController()
    const own = (running = { requestId, leaving, cancelled: new AbortController() } as NonNullable<typeof running>)
    const view = createAnswerView(terminal)
    let note: string | undefined = 'Left; the service may still be at work.'
    let isDone = false
    try {
      for await (const chunk of client.ask({ requestId, sessionId: session, text }, leaving.signal)) {
        view.show(chunk)
        if (chunk.finish_reason === 'null') continue
        if (chunk.approval_required) {
          view.end()
          if (person && (await decideCalls(chunk.approval_required, { client, person, stdout, cancelled: own.cancelled.signal }))) continue
          await own.cancelling
          if (own.cancelling) continue
          note = howToDecide(chunk.approval_required)
          break
        }
        isDone = !failures.has(chunk.finish_reason)
        note = noteOn(chunk.finish_reason, chunk.error?.body)
      }
    } catch (error) {
      if (error instanceof CommandFailure) note = error.lines.join('\n')
      else if (!leaving.signal.aborted) throw error
    } finally {
      running = undefined
      view.end()
    }
    if (note !== undefined) stderr.write(`${withoutControls(note)}\n`)
    return isDone ? 'done' : 'failed'
  }

  async function listTools(): Promise<void> {
    const rows = (await client.tools()).map(({ name, status, description }) => [name, status, description.split('\n', 1)[0] ?? ''])
    for (const line of formatTable(rows)) stdout.write(`${withoutControls(line).slice(0, stdout.columns || undefined)}\n`)
  }

  async function decideAll(person: Person | undefined): Promise<void> {
    deciding = new AbortController()
    await decideWaiting({ client, person, stdout, cancelled: deciding.signal }).finally(() => (deciding = undefined))
  }

  async function obey(command: Promise<void>): Promise<'done' | 'failed'> {
    try {
      await command
      return 'done'
    } catch (error) {
      if (!(error instanceof CommandFailure)) throw error
      stderr.write(`${error.lines.join('\n')}\n`)
      return 'failed'
    }
  }

  async function say(line: string, person?: Person): Promise<'done' | 'failed' | 'quit'> {
    const text = line.trim()
    if (text === '') return 'done'
    if (!text.startsWith('/')) return ask(text, person)
    if (text === '/quit') return 'quit'
    if (text === '/tools') return obey(listTools())
    if (text === '/approvals') return obey(decideAll(person))
    if (text === '/new') {
      session = newId()
      stderr.write(`A new session: ${session}\n`)
      return 'done'
    }
    for (const known of help) stderr.write(`${known}\n`)
    return text === '/help' ? 'done' : 'failed'
  }

  function cancel(): boolean {
    deciding?.abort()
    if (!running) return deciding !== undefined
    if (running.cancelling) running.leaving.abort()
    else {
      running.cancelling = client.cancel(running.requestId)
      running.cancelled.abort()
    }
    return true
  }

  return { ask, say, cancel }
}

const failures: ReadonlySet<string> = new Set(['error', 'cancelled', 'timeout'])

const notes: Readonly<Record<string, string | undefined>> = {
  stop: undefined,
  length: 'The answer ends here: it reached the limit of its length.',
  content_filter: 'The provider of the model withheld the rest.',
  max_iterations: 'This is the best answer so far: the number of steps reached its limit.',
  timeout: 'This is as far as it came: the time for an answer is over.',
  cancelled: 'Cancelled.',
}

function noteOn(reason: string, error: string | undefined): string | undefined {
  if (error !== undefined) return error
  return reason in notes ? notes[reason] : `The answer ended: ${reason}.`
}
