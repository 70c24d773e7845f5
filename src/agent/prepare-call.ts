import { clientAnswerIn, rejectionText, type Decision, type PendingCall } from './approval.ts'
import type { CallOptions } from './options.ts'
import { isDeeper, maxJsonDepth } from '../json/shape.ts'
import type { JsonObject, ToolCall } from './messages.ts'
import type { Tool } from './tool.ts'
import { findTool } from './tool-names.ts'

/** A checked call: its faults are known before anything runs. */
export interface PreparedCall {
  call: ToolCall
  tool: Tool | undefined
  input: JsonObject
  /** The result for the model when the call cannot run. */
  fault: string | undefined
  decision: Decision | undefined
}

/** Finds the tool of a call, and checks its arguments and what the caller has decided. */
export async function prepare(call: ToolCall, toolsByName: ReadonlyMap<string, Tool>, options: CallOptions): Promise<PreparedCall> {
  const decision = call.approval && options.decisionFor?.(call.id)
  const approved = decision?.decision === 'approve' ? decision.input : undefined
  const tool = findTool(toolsByName, call.name)
  const input = approved ?? parseArguments(call.arguments)
  const prepared: PreparedCall = { call, tool, input: typeof input === 'string' ? {} : input, fault: undefined, decision }
  if (decision?.decision === 'reject') return { ...prepared, fault: rejectionText(decision.reason) }
  if (clientAnswerIn(decision)) return prepared
  if (!tool) return { ...prepared, fault: toUnknown(call.name, toolsByName, options) }
  if (tool.provider) return { ...prepared, fault: toAbsent(call.name) }
  // A tool that supported filters when the run began may have lost the support since, on a server for instance.
  if (!tool.filters && options.filters.some((filter) => filter.tool === tool.name)) {
    return { ...prepared, fault: `${call.name} can't be used here: its data is to be filtered, and it has no filters.` }
  }
  // The model asked when the tool was absent or needed no approval, and another process resumes the run.
  if (tool.approval && !call.approval) return { ...prepared, fault: `${call.name} needs the approval of a person. Ask for the call again.` }
  if (typeof input === 'string') return { ...prepared, fault: `The arguments of ${call.name} are ${input}.` }
  const fault = await tool.check(input)
  return fault ? { ...prepared, fault: `The arguments of ${call.name} do not fit: ${fault}.` } : prepared
}

function toUnknown(name: string, toolsByName: ReadonlyMap<string, Tool>, { isDown }: CallOptions): string {
  if (isDown?.(name)) return `${name} can't be used at the moment: what it needs is not there. Go on without it, or say so.`
  return `There is no tool ${name}. The tools are: ${toList([...toolsByName.keys()])}.`
}

/** A model without the provider's tool may still ask for a call, by the name that it read in earlier messages. */
function toAbsent(name: string): string {
  return `${name} can't be called: only the provider of a model runs it, and the provider of this model did not. Go on without it, or say so.`
}

const maxListed = 50

function toList(names: readonly string[]): string {
  return names.length <= maxListed ? names.join(', ') : `${names.slice(0, maxListed).join(', ')} and ${names.length - maxListed} others`
}

/** Parses the arguments of a call; returns the fault for malformed ones. */
function parseArguments(text: string): JsonObject | 'not a JSON object' | 'nested too deeply' {
  try {
    const value: unknown = JSON.parse(text.trim() === '' ? '{}' : text)
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return 'not a JSON object'
    return isDeeper(value, maxJsonDepth) ? 'nested too deeply' : (value as JsonObject)
  } catch {
    return 'not a JSON object'
  }
}

export function isUndecided({ call, fault, decision }: PreparedCall): boolean {
  return call.approval !== undefined && fault === undefined && decision === undefined
}

export function toPending({ call, tool, input }: PreparedCall): PendingCall {
  return { callId: call.id, tool: tool?.name ?? call.name, input, by: call.approval ?? 'caller' }
}

export function isApprovedWrite({ tool, fault, decision }: PreparedCall): boolean {
  return decision?.decision === 'approve' && fault === undefined && tool?.effect === 'write'
}

export function effectOf({ tool }: PreparedCall): 'read' | 'write' {
  return tool?.effect ?? 'read'
}
