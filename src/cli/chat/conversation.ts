import { createAnswerView } from './answer-view.ts'
import { CommandFailure, type Terminal, formatTable } from '../terminal.ts'
import { decideCalls, howToDecide, howToExtend, type Person } from './approvals.ts'
import { withoutControls } from './markdown-stream.ts'
import { newId, type Chunk, type ServiceClient, type ListedCall } from './service-client.ts'
import { mkdir } from 'node:fs/promises'
import path from 'node:path'
import { messageOf } from '../../errors.ts'
import { writeNew } from '../project-files.ts'

interface ConversationOptions {
  client: ServiceClient
  terminal: Terminal
  sessionId?: string | undefined
  /** The folder for the files of a session's answers. */
  filesFolder: (sessionId: string) => string
}

const help = [
  '/new        start a new session',
  '/tools      list the tools',
  '/approvals  list the calls that wait for approval, and decide the calls that you may decide',
  '/quit       end the conversation, like Ctrl-D',
]

/** An answer that is running. */
interface RunningAnswer {
  requestId: string
  leaving: AbortController
  cancelled: AbortController
  cancelling?: Promise<void>
}

/** A conversation in one session at a time. `person` decides calls that need approval; without a person the calls keep waiting. */
export class Conversation {
  private readonly options: ConversationOptions
  private session: string
  private running: RunningAnswer | undefined
  private deciding: AbortController | undefined

  constructor(options: ConversationOptions) {
    this.options = options
    this.session = options.sessionId ?? newId()
  }

  /** Asks a question, even if the text begins with `/`. */
  async ask(text: string, person?: Person): Promise<'done' | 'failed'> {
    const { client, terminal, filesFolder } = this.options
    const { stderr, cwd } = terminal
    const running: RunningAnswer = { requestId: newId(), leaving: new AbortController(), cancelled: new AbortController() }
    this.running = running
    const view = createAnswerView(terminal)
    let end: AnswerEnd = { note: 'Disconnected; the service may still be working.' }
    try {
      const chunks = client.ask({ requestId: running.requestId, sessionId: this.session, text }, running.leaving.signal)
      for await (const chunk of chunks) {
        view.show(chunk)
        if (chunk.approval_required) {
          view.end()
          if (await this.decide(chunk.approval_required, running, person)) continue
          end = { note: howToDecide(chunk.approval_required) }
          break
        }
        if (chunk.budget_required) {
          end = { note: howToExtend(chunk.budget_required) }
          break
        }
        if (chunk.finish_reason !== 'null') end = endOf(chunk)
      }
    } catch (error) {
      if (error instanceof CommandFailure) end = { ...end, note: error.lines.join('\n') }
      else if (!running.leaving.signal.aborted) throw error
    } finally {
      this.running = undefined
      view.end()
    }
    const { isDone, note, files = [] } = end
    const lines = await saveFiles(files, { client, folder: filesFolder(this.session), cwd })
    for (const line of note === undefined ? lines : [...lines, note]) stderr.write(`${withoutControls(line)}\n`)
    return isDone ? 'done' : 'failed'
  }

  /** Asks a question, or executes a command that begins with `/`. `quit` ends the conversation. */
  async say(line: string, person?: Person): Promise<'done' | 'failed' | 'quit'> {
    const { stderr } = this.options.terminal
    const text = line.trim()
    if (text === '') return 'done'
    if (!text.startsWith('/')) return this.ask(text, person)
    if (text === '/quit') return 'quit'
    if (text === '/tools') return this.obey(listTools(this.options))
    if (text === '/approvals') return this.obey(this.decideAll(person))
    if (text === '/new') {
      this.session = newId()
      stderr.write(`New session: ${this.session}\n`)
      return 'done'
    }
    for (const helpLine of help) stderr.write(`${helpLine}\n`)
    return text === '/help' ? 'done' : 'failed'
  }

  /** Cancels the running answer: the first call asks the service to cancel, a second call disconnects. False if no answer is running. */
  cancel(): boolean {
    const { running, deciding } = this
    deciding?.abort()
    if (!running) return deciding !== undefined
    if (running.cancelling) running.leaving.abort()
    else {
      running.cancelling = this.options.client.cancel(running.requestId)
      running.cancelled.abort()
    }
    return true
  }

  /** True when the answer goes on: the calls are decided, or the run is cancelled. */
  private async decide(waiting: NonNullable<Chunk['approval_required']>, running: RunningAnswer, person?: Person): Promise<boolean> {
    const { client, terminal } = this.options
    const { stdout } = terminal
    if (person && (await decideCalls(waiting, { client, person, stdout, cancelled: running.cancelled.signal }))) return true
    await running.cancelling
    return running.cancelling !== undefined
  }

  private async decideAll(person: Person | undefined): Promise<void> {
    const { client, terminal } = this.options
    this.deciding = new AbortController()
    const context = { client, person, stdout: terminal.stdout, cancelled: this.deciding.signal }
    await decideWaiting(context).finally(() => (this.deciding = undefined))
  }

  private async obey(command: Promise<void>): Promise<'done' | 'failed'> {
    try {
      await command
      return 'done'
    } catch (error) {
      if (!(error instanceof CommandFailure)) throw error
      this.options.terminal.stderr.write(`${error.lines.join('\n')}\n`)
      return 'failed'
    }
  }
}

async function listTools({ client, terminal: { stdout } }: ConversationOptions): Promise<void> {
  const rows = (await client.tools()).map(({ name, status, description }) => [name, status, description.split('\n', 1)[0] ?? ''])
  for (const line of formatTable(rows)) stdout.write(`${withoutControls(line).slice(0, stdout.columns || undefined)}\n`)
}

/** How an answer has ended. */
interface AnswerEnd {
  isDone?: boolean
  /** A line for the person. */
  note: string | undefined
  files?: NonNullable<Chunk['generated_artifacts']>
}

function endOf({ finish_reason: reason, error, generated_artifacts: files = [] }: Chunk): AnswerEnd {
  return { isDone: !failures.has(reason), note: noteOn(reason, error?.body), files }
}

const failures: ReadonlySet<string> = new Set(['error', 'cancelled', 'timeout'])

const notes: Readonly<Record<string, string | undefined>> = {
  stop: undefined,
  length: 'The answer is incomplete: it reached the length limit.',
  content_filter: 'The answer is incomplete: the model provider withheld the rest.',
  max_iterations: 'This is the best answer so far: the run reached the step limit.',
  budget_exceeded: 'This is the best answer so far: a budget is used up.',
  timeout: 'The answer is incomplete: the run reached the time limit.',
  cancelled: 'Cancelled.',
}

function noteOn(reason: string, error: string | undefined): string | undefined {
  if (error !== undefined) return error
  return reason in notes ? notes[reason] : `The answer ended with finish reason ${reason}.`
}

interface WaitingCallsContext {
  client: Pick<ServiceClient, 'waitingCalls' | 'decide'>
  /** Undefined if no person can be asked. */
  person: Person | undefined
  stdout: Terminal['stdout']
  /** Aborted when the person at the terminal leaves the list. */
  cancelled: AbortSignal
}

/** Lists the calls that wait for approval, and asks the person to decide each call that the key permits to decide. */
async function decideWaiting({ client, person, stdout, cancelled }: WaitingCallsContext): Promise<void> {
  const calls = await client.waitingCalls()
  if (calls.length === 0) stdout.write('No call waits for approval.\n')
  for (const call of calls) {
    for (const line of contextLines(call)) stdout.write(`${withoutControls(line)}\n`)
    const waiting = { request_id: call.request_id, calls: [call] }
    if (!call.may_decide) stdout.write(`${withoutControls(JSON.stringify(call.tool_input))}\nThis key may not decide this call.\n`)
    else if (!person) stdout.write(`${withoutControls(howToDecide(waiting))}\n`)
    else if (!(await decideCalls(waiting, { client, person, stdout, cancelled }))) return
  }
}

/** Longer messages are cut. The call, which the person decides, is shown in full. */
const maxLine = 300

function contextLines({ tool, requested_by: caller, session_id: session, messages = [] }: ListedCall): string[] {
  const messageLines = messages.map(({ role, content }) => {
    const text = content.replace(/\s+/g, ' ')
    return `  ${role}: ${text.length > maxLine ? `${text.slice(0, maxLine)}…` : text}`
  })
  return [`${caller} waits in session ${session} for the approval of a call of ${tool}.`, ...messageLines]
}

type AnswerFile = NonNullable<Chunk['generated_artifacts']>[number]

interface SaveOptions {
  client: Pick<ServiceClient, 'content'>
  folder: string
  /** The folder to which the paths in the lines are relative. */
  cwd: string
}

/** Saves the files of an answer, and returns a line for each: its path, or why it is not there. An existing file is not overwritten. */
export async function saveFiles(files: readonly AnswerFile[], { client, folder, cwd }: SaveOptions): Promise<string[]> {
  const lines: string[] = []
  for (const { artifact_id: id, file_name: name } of files) {
    try {
      const target = await writeBeside(folder, toFileName(name), await client.content(id))
      lines.push(`Saved ${path.relative(cwd, target)}`)
    } catch (error) {
      lines.push(`The file ${name} was not saved: ${messageOf(error)}`)
    }
  }
  return lines
}

/** The last part of the name, without control characters. A name of dots alone would lead to another folder. */
function toFileName(name: string): string {
  const last = path.basename(name.replaceAll('\\', '/')).replaceAll(/\p{Cc}/gu, '')
  return /^\.*$/.test(last) ? 'file' : last
}

/** Writes `chart.png`, or `chart-2.png` and so on if a file of this name exists. Returns the path. */
async function writeBeside(folder: string, name: string, content: Uint8Array): Promise<string> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const { name: stem, ext } = path.parse(name)
  for (let number = 1; ; number++) {
    const target = path.join(folder, number === 1 ? name : `${stem}-${number}${ext}`)
    if (await writeNew(target, content, 0o600)) return target
  }
}
