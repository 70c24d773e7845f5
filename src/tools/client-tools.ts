import { toTool } from '../agent/run-tool.ts'
import type { CallerSchemas, ClientTools } from '../runs/execution/ports.ts'

/** Makes tools of the loop from tools of the client. */
export function createClientTools(schemas: CallerSchemas): ClientTools {
  return {
    async faultOf({ schema }, caller) {
      const fault = await schemas.faultOf('input', schema, caller)
      return fault && `its input schema ${fault.msg}`
    },

    create: (tools, caller) =>
      tools.map((tool) => toTool(tool, async (input) => (await schemas.faultsOf('input', tool.schema, input, caller))[0])),
  }
}
