import type { Principal } from '../../src/access/permissions.ts'
import type { PendingCall } from '../../src/agent/approval.ts'
import { toAccount } from '../../src/budgets/accounts.ts'
import { ServiceError } from '../../src/errors.ts'
import type { Raise } from '../../src/runs/approvals/approval-store.ts'
import type { StoredRun } from '../../src/runs/run-store.ts'
import { budgetsOf } from './agent.ts'
import type { Row } from '../../src/runs/memory-run-rows-fixture.ts'
import type { NewChat } from '../../src/runs/new-chat.ts'
import type { OpenRun } from '../../src/runs/open-run.ts'
import { ann, chatOf, keyOf } from '../../src/runs/process-fixture.ts'
import { currentActor } from './clock.ts'
import type { Step } from './plan.ts'
import type { SimulatedProcess } from './process.ts'
import { Reader } from './reader.ts'
import type { World } from './world.ts'

/** A request of a client. A request whose process has died stays without an answer, for ever. */
interface Request {
  process: SimulatedProcess
  isAnswered: boolean
}

interface SentChat {
  chat: NewChat
  isAsync: boolean
  process: SimulatedProcess
  client: AbortController
}

type StepOf<K extends Step['kind']> = Extract<Step, { kind: K }>

/** Decisions at the end of a schedule that approve. */
const maxLastApprovals = 20

const caller: Principal = {
  ...ann,
  issuer: 'agent-core',
  sub: 'ann',
  roles: ['admin'],
  permissions: new Set(),
  keyId: undefined,
  signingKeyId: undefined,
  expiresAt: Infinity,
}

/** The clients of a schedule: clients send the steps of the plan, and remember the answers. */
export class Clients {
  readonly readers: Reader[] = []
  /** Request ids of async chats that were accepted. */
  readonly accepted = new Set<string>()
  /** Request ids of runs whose cancellation was answered without an error. */
  readonly cancelled = new Set<string>()
  /** Acknowledged messages to runs, in order, by the addressed run. */
  readonly messages: { requestId: string; text: string; mode: 'steer' | 'follow_up'; position: number }[] = []
  private messageCount = 0
  private readonly world: World
  private readonly requests: Request[] = []
  private readonly chats: SentChat[] = []
  private decisions = 0
  private lastDecisions = 0
  /** The connection of a client that stays. */
  private readonly lasting = new AbortController().signal

  constructor(world: World) {
    this.world = world
  }

  /** True when no request waits for an answer that can still come. */
  get areAnswered(): boolean {
    return this.requests.every(({ process, isAnswered }) => isAnswered || !process.isAlive)
  }

  /** True where the subject of the step exists: a call that waits for a decision, or a tool in execution. */
  isReadyFor(step: Step): boolean {
    if (step.kind === 'decide') return this.waiting.length > 0
    return step.kind !== 'kill' || step.during === 'anything' || this.placeWithTool >= 0
  }

  private get placeWithTool(): number {
    return this.world.processes.findIndex(({ isAlive, runningTools }) => isAlive && runningTools > 0)
  }

  private get waiting(): Row[] {
    return this.world.store.allRows().filter(({ status }) => status === 'interrupted')
  }

  begin(step: Step): void {
    const { world } = this
    switch (step.kind) {
      case 'chat':
        return this.chat(step)
      case 'repeat':
      case 'cancel':
      case 'follow':
      case 'decide':
      case 'message':
        return this.about(step)
      case 'leave':
        return this.leave(this.chats[step.run % this.chats.length]!)
      case 'override':
        return this.override(world.processes[step.process]!, step.nanoUsd)
      case 'kill':
        return world.kill(step.during === 'tool' && this.placeWithTool >= 0 ? this.placeWithTool : step.process)
      case 'stop': {
        const process = world.processes[step.process]!
        return this.send(process, () => world.stop(step.process))
      }
      case 'stall':
        return void world.store.alive.delete(world.processes[step.process]!.holder)
      case 'deafen':
        return void (world.processes[step.process]!.deafTo += step.messages)
      case 'fail':
        return void (world.processes[step.process]!.failure = { after: step.after, isStored: step.isStored })
    }
  }

  /** Approves the open calls of the interrupted runs, so that every run can end. A run that waits for a budget again and again is rejected. */
  decideRest(): void {
    if (this.decisions > 0) return
    const process = this.world.processes.find(({ isAlive }) => isAlive)
    const [row] = this.waiting
    if (process && row) this.decide(process, row.requestId, ++this.lastDecisions > maxLastApprovals ? 'reject' : 'approve')
  }

  /** Changes the limit of the caller in the present hour. */
  private override(process: SimulatedProcess, nanoUsd: number | undefined): void {
    const { budget } = this.world
    if (!budget) return
    this.send(process, async () => {
      const now = await process.overrides.now()
      const account = toAccount(budgetsOf(budget)[0]!, caller.owner, now)
      const limit = { limit: { nanoUsd: nanoUsd ?? 0 }, until: account.resetsAt! }
      const change = nanoUsd === undefined ? () => undefined : await process.rules.replace(caller, account, limit)
      await process.overrides.override(caller.tenant, account, change)
    })
  }

  private chat({ process, session, question, way }: StepOf<'chat'>): void {
    const requestId = `r${this.chats.length}`
    const content = `${question} ${requestId}`
    const chat = chatOf(content, {
      requestId,
      sessionId: `s${session}`,
      operation: way === 'async' ? 'chain_async' : 'chain',
      onDisconnect: way === 'waits' ? 'cancel' : 'continue',
    })
    const sent = { chat, isAsync: way === 'async', process: this.world.processes[process]!, client: new AbortController() }
    this.chats.push(sent)
    this.ask(sent.process, sent, sent.client.signal)
  }

  /** Breaks the connection to the process, which notices it. */
  private leave({ process, client }: SentChat): void {
    currentActor.run(process, () => client.abort())
  }

  private about(step: StepOf<'repeat' | 'follow' | 'cancel' | 'decide' | 'message'>): void {
    const process = this.world.processes[step.process]!
    const sent = this.chats[step.run % this.chats.length]!
    const { requestId } = sent.chat
    switch (step.kind) {
      case 'repeat':
        return this.ask(process, sent, this.lasting)
      case 'follow':
        return this.send(process, async () => this.read(await process.runs.follow(keyOf(requestId), this.lasting), requestId, this.lasting))
      case 'cancel':
        return this.send(process, async () => {
          await process.runs.cancel(keyOf(requestId))
          this.cancelled.add(requestId)
          const status = this.world.store.rowOf(requestId)?.status
          if (status !== 'cancelled') this.world.audit.fault(`The cancellation of run ${requestId} was answered, but the run is ${status}.`)
        })
      case 'message':
        return this.message(process, requestId, step.mode)
      case 'decide':
        return this.decide(process, this.waiting[step.run % this.waiting.length]?.requestId ?? requestId, step.decision)
    }
  }

  private message(process: SimulatedProcess, requestId: string, mode: 'steer' | 'follow_up'): void {
    const id = `m${this.messageCount++}`
    const text = `plain ${id}`
    this.send(process, async () => {
      const { position } = await process.runs.steer(keyOf(requestId), { id, text, mode })
      this.messages.push({ requestId, text, mode, position })
    })
  }

  private ask(process: SimulatedProcess, { chat, isAsync }: SentChat, disconnected: AbortSignal): void {
    this.send(process, async () => {
      if (!isAsync) return this.read(await process.runs.open(caller, chat, disconnected), chat.requestId, disconnected)
      const event = { source: 'tests', id: chat.requestId, callbackUrl: undefined }
      const { requestId } = await process.runs.accept(caller, event, () => chat)
      this.accepted.add(requestId)
    })
  }

  private decide(process: SimulatedProcess, requestId: string, decision: 'approve' | 'reject'): void {
    this.decisions++
    this.send(process, async () => {
      try {
        const run = await process.store.find(keyOf(requestId))
        const [call] = this.world.store.openCallsOf(keyOf(requestId))
        if (run?.status !== 'interrupted' || !call) return
        const raise = decision === 'approve' ? await this.raiseOf(process, call, run) : undefined
        const made = decision === 'approve' && call.by === 'budget' ? 'extend' : decision
        await process.runs.decide(run, (takeOver) => process.approvals.decide(run, call.callId, made, takeOver, raise))
      } finally {
        this.decisions--
      }
    })
    if (!process.isAlive) this.decisions--
  }

  /** The higher limit of a budget that a run waits for; undefined where the run goes on with the limit as it is. */
  private async raiseOf(process: SimulatedProcess, call: PendingCall, run: StoredRun): Promise<Raise | undefined> {
    const more = this.world.budget?.raise
    if (call.by !== 'budget' || !more) return undefined
    const stored = { ...call, ...keyOf(run.requestId), sessionId: run.sessionId, place: 0, requestedAt: 0, expiresAt: 0 }
    return process.toRaise(caller, stored, run, call.tool === 'hour' ? { usd: more / 1e9 } : { tokens: more })
  }

  private async read(run: OpenRun, requestId: string, disconnected: AbortSignal): Promise<void> {
    const reader = new Reader(requestId, this.world.audit)
    this.readers.push(reader)
    await reader.follow(run, disconnected)
  }

  /** Sends a request. Errors of the contract are answers; any other error is a fault. */
  private send(process: SimulatedProcess, work: () => Promise<void>): void {
    if (!process.isAlive) return
    const request = { process, isAnswered: false }
    this.requests.push(request)
    const answer = (error?: unknown) => {
      request.isAnswered = true
      if (error === undefined || error instanceof ServiceError || isAbort(error)) return
      this.world.audit.fault(`A request was answered with ${error instanceof Error ? error.stack : String(error)}`)
    }
    currentActor.run(process, () => void work().then(() => answer(), answer))
  }
}

function isAbort(error: unknown): boolean {
  return error instanceof Error && error.name === 'AbortError'
}
