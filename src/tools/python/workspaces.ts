import { shareOf } from '../../processes/fair-pool.ts'
import { Pool, type LeaseRequest, type Obstacle, type PooledProcess } from '../../processes/pool.ts'
import { WorkerLost } from '../../processes/worker.ts'
import type { Interpreter } from './interpreter.ts'
import { readFile, stat } from 'node:fs/promises'
import type { Taint } from '../../agent/messages.ts'
import type { ToolContext } from '../../agent/tool.ts'
import type { FilesRoot } from '../../files/root.ts'
import { createFileAccess, toRelative } from '../files/files.ts'
import type { RunFile } from './memory-files.ts'

/** The process of a conversation, with everything that earlier calls left in the process. */
export interface Workspace extends PooledProcess {
  readonly interpreter: Interpreter
  /** Files loaded into the process, by path. */
  readonly loadedFiles: Map<string, LoadedFile>
  /** The conversation whose code has run in the process. */
  conversation?: string | undefined
  /** Taint of the code that has run in the process: variables may hold what the model was shown. */
  taint?: Taint
}

export interface LoadedFile {
  /** Changes with the content. */
  version: string
  bytes: number
  /** The name with links resolved, relative to the files root. */
  canonical: string
}

/** Calls with the same key of a conversation take turns and share a process. */
export type WorkspaceRequest = Required<LeaseRequest<Workspace>>

/** The exclusive use of a process during a call. */
export interface WorkspaceLease {
  readonly workspace: Workspace
  /** No code has run in the process yet. */
  readonly isFresh: boolean
  /** An earlier process of the conversation has ended since the last call, with its variables. */
  readonly hasForgotten: boolean
}

export interface WorkspaceOptions {
  start(): Promise<Interpreter>
  /** Maximum number of processes, the spare process included. */
  max: number
  /** Milliseconds until an idle process is ended. */
  keepMs: number
  /** Milliseconds until an unused spare process ends. */
  spareMs?: number
  /** Milliseconds after a spare process was taken until the next one is started. */
  spareDelayMs?: number
}

const hourMs = 3_600_000
/** Maximum number of conversations without a process to remember. */
const maxForgotten = 10_000

/** Python processes, a separate process for each conversation. */
export class Workspaces {
  private readonly max: number
  private readonly pool: Pool<Workspace>
  /** Conversations whose process was ended after code had run in the process. */
  private readonly forgotten = new Set<string>()

  constructor({ start, max, keepMs, spareMs = hourMs, spareDelayMs = 500 }: WorkspaceOptions) {
    this.max = max
    this.pool = new Pool({
      start: () => start().then(toWorkspace, failStart),
      affinity: 'conversation',
      max,
      idleMs: keepMs,
      spareMs,
      spareDelayMs,
      closedText: 'Python is closed.',
      timeoutError: (_request, obstacle) => new Error(this.toTimeoutText(obstacle)),
      onDrop: ({ conversation }) => this.remember(conversation),
    })
  }

  /** Starts the spare process. */
  prepare(): void {
    this.pool.prepare()
  }

  /** Runs `work` with the process of a conversation. Rejects with an `Error` for a model when no process is free in time. */
  use<T>(request: WorkspaceRequest, work: (lease: WorkspaceLease) => Promise<T>): Promise<T> {
    return this.pool.use(request, async ({ process: workspace }) => {
      const isFresh = workspace.conversation === undefined
      workspace.conversation = request.conversation
      try {
        return await work({ workspace, isFresh, hasForgotten: this.forgotten.delete(request.conversation) })
      } catch (error) {
        // The failed call itself reports the loss, unless its caller is gone, so the next call need not report the loss again.
        if (error instanceof WorkerLost && !request.signal.aborted) this.forget(workspace)
        throw error
      }
    })
  }

  close(): Promise<void> {
    return this.pool.close()
  }

  private remember(conversation: string | undefined): void {
    if (conversation === undefined) return
    this.forgotten.add(conversation)
    for (const oldest of this.forgotten) {
      if (this.forgotten.size <= maxForgotten) break
      this.forgotten.delete(oldest)
    }
  }

  private forget(workspace: Workspace): void {
    if (workspace.conversation !== undefined) this.forgotten.delete(workspace.conversation)
    workspace.conversation = undefined
  }

  private toTimeoutText(obstacle: Obstacle): string {
    const share = shareOf(this.max)
    switch (obstacle) {
      case 'share':
        return `Your other conversations have ${share} ${share === 1 ? 'call' : 'calls'} of Python running; no more run for one caller at a time. Try again later.`
      case 'start':
        return 'Python did not start in time. Try again.'
      case 'conversation':
        return 'Python is still busy with an earlier call of this conversation.'
      case 'process':
        return `All ${this.max} places for Python are taken by calls of other conversations. Try again later.`
    }
  }
}

function toWorkspace(interpreter: Interpreter): Workspace {
  return {
    interpreter,
    loadedFiles: new Map(),
    get isAlive() {
      return interpreter.isAlive
    },
    gone: interpreter.gone,
    end: () => interpreter.end(),
  }
}

function failStart(cause: unknown): never {
  throw new Error('Python cannot be started at the moment.', { cause })
}

/** Loads the files of a question into Python, at most `maxBytes` in total for each conversation. */
export function createQuestionFiles(root: FilesRoot, maxBytes: number) {
  const access = createFileAccess(root, { globs: [], matches: () => true })

  async function read(name: string, workspace: Workspace, context: ToolContext): Promise<RunFile | undefined> {
    const { path, absolute } = await access.locate(name, context)
    const { size, mtimeMs, ino } = await stat(absolute)
    const version = `${size} ${mtimeMs} ${ino}`
    if (workspace.loadedFiles.get(path)?.version === version) return undefined
    const otherBytes = [...workspace.loadedFiles].reduce((sum, [name, { bytes }]) => sum + (name === path ? 0 : bytes), 0)
    if (otherBytes + size > maxBytes)
      throw new Error(`${path} is not available in Python: at most ${toMegabytes(maxBytes)} MB of files can be loaded.`)
    const bytes = await readFile(absolute, { signal: context.signal })
    workspace.loadedFiles.set(path, { version, bytes: bytes.length, canonical: toRelative(root, absolute) })
    return { path, bytes }
  }

  return {
    /** True if all files loaded into the process may still be read in this context. */
    mayReuse: (workspace: Workspace, context: Pick<ToolContext, 'isWithheld'>) =>
      [...workspace.loadedFiles].every(([path, { canonical }]) => !context.isWithheld(path) && !context.isWithheld(canonical)),
    /** Returns new and changed files of the question, and notes about files which cannot be loaded. */
    async load(workspace: Workspace, context: ToolContext): Promise<{ files: RunFile[]; notes: string[] }> {
      const files: RunFile[] = []
      const notes: string[] = []
      for (const name of context.contextFiles) {
        try {
          const file = await read(name, workspace, context)
          if (file) files.push(file)
        } catch (error) {
          context.signal.throwIfAborted()
          notes.push(error instanceof Error ? error.message : `${name} cannot be read.`)
        }
      }
      return { files, notes }
    },
  }
}

function toMegabytes(bytes: number): number {
  return Math.round(bytes / 1024 / 1024)
}
