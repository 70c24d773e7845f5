import type { ToolBuilder } from '../builder.ts'

export const createModule: ToolBuilder = () => {
  throw new Error('This type of tool is not there yet.')
}
