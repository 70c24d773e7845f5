import type { JsonValue } from '../../agent/messages.ts'
import { toStableJson } from '../../configuration/parse.ts'
import type { RecordedCall } from '../example.ts'

/** A call of a replay. */
export interface ReplayedCall {
  callId: string
  tool: string
  input: JsonValue
}

/** The place of an agent in the recording: null for the run's own agent, undefined for an agent that was not recorded. */
type Place = number | null | undefined

/**
 * The recorded calls of an example during one replay. A call of the replay takes the first unused recorded call of the same parent, tool and
 * input. Inputs are compared as canonical JSON: neither the order of members nor the form of a number counts.
 */
export class Recording {
  private readonly unused = new Map<string, RecordedCall[]>()
  private readonly claims = new Map<string, RecordedCall | undefined>()
  /** The call in which the agent of a call runs; absent for calls of the run's own agent. */
  private readonly agents = new Map<string, string>()
  /** The places of the agents inside of calls. */
  private readonly places = new Map<string, Place>()

  constructor(calls: readonly RecordedCall[]) {
    for (const call of calls) {
      const key = keyOf(call.parent, call.tool, call.tool_input)
      this.unused.set(key, [...(this.unused.get(key) ?? []), call])
    }
  }

  /** Notes the calls that an agent has requested; `agent` is the call in which the agent runs. */
  requested(callIds: readonly string[], agent: string | undefined): void {
    if (agent !== undefined) for (const callId of callIds) this.agents.set(callId, agent)
  }

  /** The recorded call that answers a call; undefined for none. The same call always gets the same answer. */
  claim({ callId, tool, input }: ReplayedCall): RecordedCall | undefined {
    if (this.claims.has(callId)) return this.claims.get(callId)
    const parent = this.parentOf(callId)
    const list = parent === undefined ? undefined : this.unused.get(keyOf(parent, tool, input))
    const call = list?.shift()
    this.claims.set(callId, call)
    this.places.set(callId, call?.n ?? this.similarPlace(parent, tool))
    return call
  }

  /** The recorded call that a call has taken. */
  claimOf(callId: string): RecordedCall | undefined {
    return this.claims.get(callId)
  }

  /** The place of the agent inside of a call; null for the run's own agent. */
  placeOf(agent: string | undefined): Place {
    return agent === undefined ? null : this.places.get(agent)
  }

  /** The number of the recorded call in which the agent of a call runs. */
  parentOf(callId: string): Place {
    return this.placeOf(this.agents.get(callId))
  }

  /** True where the same call was recorded, and other calls have taken every recording. */
  isUsedUp({ callId, tool, input }: ReplayedCall): boolean {
    const parent = this.parentOf(callId)
    return parent !== undefined && this.unused.has(keyOf(parent, tool, input))
  }

  /** The recorded calls that no call has taken. */
  rest(): RecordedCall[] {
    return [...this.unused.values()].flat().sort((a, b) => a.n - b.n)
  }

  /**
   * The place of an agent whose task is other than recorded: the first unused call of the same sub-agent. Only its calls are looked up there;
   * the answer of the sub-agent is its own.
   */
  private similarPlace(parent: Place, tool: string): Place {
    const usedPlaces = new Set(this.places.values())
    return this.rest().find((call) => call.parent === parent && call.tool === tool && !usedPlaces.has(call.n))?.n
  }
}

function keyOf(parent: number | null, tool: string, input: JsonValue): string {
  return toStableJson([parent, tool, input])
}
