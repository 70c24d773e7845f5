import type { ToolContext } from './tool.ts'
import { keepNothing } from './artifact-fixture.ts'

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
    artifact: keepNothing,
    ...traits,
  }
}
