import type { JsonObject, JsonValue } from '../src/agent/messages.ts'
import type { Tool, ToolContext } from '../src/agent/tool.ts'
import { createCheck } from '../src/tools/builder.ts'

type Execute = (input: JsonObject, context: ToolContext) => Promise<JsonValue>

/** A tool that takes anything and does what a test says. */
export function fakeTool(name: string, execute: Execute, traits: Partial<Tool> = {}): Tool {
  const schema = traits.schema ?? { type: 'object' }
  return {
    name,
    description: `The tool ${name}.`,
    effect: 'read',
    filters: false,
    timeoutMs: 10_000,
    maxOutputCharacters: 20_000,
    check: createCheck(schema),
    execute,
    ...traits,
    schema,
  }
}

/** A tool whose calls wait until the test lets them go; a cancelled one fails. */
export function gatedTool(name: string, traits: Partial<Tool> = {}) {
  const inputs: JsonObject[] = []
  const gate = Promise.withResolvers<void>()
  const entered = Promise.withResolvers<void>()
  const cancelled = Promise.withResolvers<void>()
  const execute: Execute = async (input, { signal }) => {
    inputs.push(input)
    signal.addEventListener('abort', () => cancelled.resolve())
    entered.resolve()
    await gate.promise
    return { done: inputs.length }
  }
  return {
    tool: fakeTool(name, execute, traits),
    /** Of every call, also of those that wait. */
    inputs,
    /** Resolves when the first call is there. */
    entered: entered.promise,
    /** Resolves when a call was cancelled. */
    cancelled: cancelled.promise,
    open: () => gate.resolve(),
  }
}

/** What a scripted model says to call a tool. */
export function callOf(name: string, input: object = {}): { calls: { name: string; arguments: string }[] } {
  return { calls: [{ name, arguments: JSON.stringify(input) }] }
}
