import type { ToolBuilder } from '../builder.ts'

export const createMcp: ToolBuilder = () => {
  throw new Error('This type of tool is not there yet.')
}
