import type { ToolBuilder } from '../builder.ts'

export const createOpenApi: ToolBuilder = () => {
  throw new Error('This type of tool is not there yet.')
}
