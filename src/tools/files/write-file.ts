import type { JsonObject } from '../../agent/messages.ts'
import type { ToolContext } from '../../agent/tool.ts'
import { mediaTypeOf } from '../../artifacts/file-name.ts'
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

/** Returns `{artifact_id, file_name, file_type, size}`: the sanitized name, and the size in bytes of UTF-8. */
export function createWriteFile(spec: ToolSpec): ToolBuild {
  async function execute(input: JsonObject, context: ToolContext) {
    const name = String(input['file_name'])
    const { id, name: safeName, type, size } = await context.artifact(name, mediaTypeOf(name), Buffer.from(String(input['content'])))
    context.log(`Created ${safeName} (${size} bytes).`)
    return { artifact_id: id, file_name: safeName, file_type: type, size }
  }

  return {
    tool: createTool(spec, {
      description: 'Makes a text file that the user can download. Each call makes a new file: existing files are never changed.',
      schema,
      effect: 'write',
      filters: false,
      execute,
    }),
  }
}
