import type { Message } from './messages.ts'
import type { ToolChoice } from './model.ts'
import type { Tool } from './tool.ts'

/** Whether a choice leaves the model no answer but a call. Models of several providers cannot think then. */
export function isDemand(choice: ToolChoice | undefined): choice is Exclude<ToolChoice, 'auto' | 'none'> {
  return choice !== undefined && choice !== 'auto' && choice !== 'none'
}

/** The caller's choice of tools for the next model call. A demand for a call holds until the first call of the run. */
export function choiceInForce(choice: ToolChoice | undefined, messages: readonly Message[]): ToolChoice | undefined {
  return isDemand(choice) && hasCalled(messages) ? 'auto' : choice
}

/** True when the choice leaves the tool to the model. A demand for a call means one of the client's tools. */
export function isChosen({ name, approval }: Pick<Tool, 'name' | 'approval'>, choice: ToolChoice | undefined): boolean {
  const isOfClient = approval?.by === 'client'
  if (choice === undefined || choice === 'auto') return true
  if (choice === 'none') return !isOfClient
  return isOfClient && (choice === 'required' || choice.name === name)
}

/** True when a tool was called since the question. */
function hasCalled(messages: readonly Message[]): boolean {
  const question = messages.findLastIndex((message) => message.role === 'user' && message.instruction === undefined)
  return messages.slice(question + 1).some((message) => message.role === 'assistant' && message.toolCalls.length > 0)
}
