import { progressText } from './run-tool.ts'
import type { AgentEvent, LoopOutcome } from './events.ts'
import { runAgent } from './loop.ts'
import type { JsonValue, Artifact } from './messages.ts'
import type { Model } from './model.ts'
import type { LoopOptions, Workflow } from './options.ts'
import type { Tool, ToolContext } from './tool.ts'

/** A tool for tests: reads, takes any input and answers `ok`, unless `traits` say otherwise. */
export function fakeTool(name: string, traits: Partial<Tool> = {}): Tool {
  return {
    name,
    description: `Does ${name}.`,
    schema: { type: 'object' },
    effect: 'read',
    filters: false,
    timeoutMs: 10_000,
    maxOutputCharacters: 1000,
    check: () => undefined,
    execute: async (): Promise<JsonValue> => 'ok',
    ...traits,
  }
}

export type Traits = Partial<Omit<LoopOptions, 'tools'>> & { tools?: readonly Tool[] }

/** A run of one user message, "Go.": ids are c1, c2, ... and each look at the clock is a millisecond later. */
export function optionsOf(model: Model, { tools = [], ...traits }: Traits = {}): LoopOptions {
  let ids = 0
  let time = 0
  return {
    model,
    system: 'Be brief.',
    messages: [{ role: 'user', text: 'Go.' }],
    tools: () => tools,
    maxIterations: 10,
    headers: {},
    caller: { tenant: 'default', owner: 'test user' },
    session: 's',
    sessionId: 's',
    contextFiles: [],
    filters: [],
    signal: new AbortController().signal,
    stopReason: () => 'cancelled',
    keepArtifact: keepNothing,
    now: () => ++time,
    newId: () => `c${++ids}`,
    ...traits,
  }
}

/** An event of an agent, or its outcome as the last event. */
export type StoryEvent = AgentEvent | LoopOutcome

/** Runs to the end; `onEvent` acts as soon as an event is emitted. A result is followed by the end of its step, as for readers. */
export async function eventsOf(options: LoopOptions, onEvent?: (event: StoryEvent) => unknown, workflow?: Workflow): Promise<StoryEvent[]> {
  const events: StoryEvent[] = []
  const take = (event: StoryEvent): void => {
    events.push(event)
    onEvent?.(event)
    if (event.type === 'result') take({ type: 'step_end', step: event.step })
  }
  take(
    await runAgent({ ...options, ...(workflow && { workflow }) }, (event) => {
      take(event)
      return undefined
    }),
  )
  return events
}

/** The whole sequence of events, a line for each. */
export function story(events: readonly StoryEvent[]): string[] {
  return events.map((event) => {
    switch (event.type) {
      case 'text':
        return `${event.label}: ${event.text}`
      case 'user_message':
        return `${event.type}: ${event.text}`
      case 'progress':
        return `progress of ${event.step.tool}: ${progressText(event.report)}`
      case 'retrying':
        return 'retrying'
      case 'step_start':
        return `${event.step.id} starts: ${event.step.tool} ${JSON.stringify(event.step.input)}`
      case 'step_end':
        return `${event.step.id} ends: ${event.step.status}`
      case 'turn':
        return 'turn'
      case 'result':
        return `${event.message.callId} result${event.message.isError ? ' (error)' : ''}: ${event.message.text}`
      case 'nested':
        return `in ${event.callId}: ${event.event.type}`
      case 'instruction':
        return `instruction: ${event.message.text}`
      case 'approved_start':
        return `${event.callId} is about to be made`
      case 'suspension':
        return `${event.suspension.callId} ${event.suspension.isOver ? 'goes on' : 'waits for answers'}`
      case 'interrupt':
        return `interrupt: ${event.calls.map((call) => `${call.callId} ${call.tool}`).join(', ')}`
      case 'end':
        return `end: ${event.reason}`
    }
  })
}

/** A promise to be settled by hand. */
export function gate(): { opened: Promise<void>; open(): void } {
  const { promise, resolve } = Promise.withResolvers<void>()
  return { opened: promise, open: resolve }
}

/** Refuses every file, for tools that make none. */
export const keepNothing = (): Promise<Artifact> => Promise.reject(new Error('No files are kept here.'))

/** The context of a call without conversation and filters; files are refused. */
export function contextOf(traits: Partial<ToolContext> = {}): ToolContext {
  return {
    callId: 'c',
    signal: new AbortController().signal,
    headers: {},
    caller: { tenant: 'default', owner: 'test user' },
    session: 's',
    sessionId: 's',
    contextFiles: [],
    latestOutput: () => undefined,
    filters: [],
    isWithheld: () => false,
    restriction: '',
    log: () => {},
    report: () => {},
    artifact: keepNothing,
    ...traits,
  }
}
