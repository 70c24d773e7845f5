import type { JsonObject } from '../../agent/messages.ts'
import type { ToolContext } from '../../agent/tool.ts'
import { mediaTypeOf } from '../../artifacts/media-type.ts'
import { createTool, type ToolBuild, type ToolSpec } from '../builder.ts'

const schema = {
  type: 'object',
  properties: {
    file_name: { type: 'string', minLength: 1, maxLength: 1000, description: 'With an extension, such as `report.md`; no folders.' },
    content: { type: 'string', description: 'The whole text of the file.' },
  },
  required: ['file_name', 'content'],
  additionalProperties: false,
}

/** Gives `{artifact_id, file_name, file_type, size}`: the name as it was made safe, the size in bytes of UTF-8. */
export function createWriteFile(spec: ToolSpec): ToolBuild {
  async function execute(input: JsonObject, context: ToolContext) {
    const name = String(input['file_name'])
    const { id, name: kept, type, size } = await context.artifact(name, mediaTypeOf(name), Buffer.from(String(input['content'])))
    context.log(`Made ${kept} (${size} bytes).`)
    return { artifact_id: id, file_name: kept, file_type: type, size }
  }

  return {
    tool: createTool(spec, {
      description: 'Makes a text file for the user, who can download it. It is new each time: files are never changed.',
      schema,
      effect: 'write',
      filters: false,
      execute,
    }),
  }
}
