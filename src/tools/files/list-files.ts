import { stat } from 'node:fs/promises'
import type { JsonObject } from '../../agent/messages.ts'
import type { ToolContext } from '../../agent/tool.ts'
import { createPatterns } from '../../files/patterns.ts'
import { createTool, type ToolBuild, type ToolDependencies, type ToolSpec } from '../builder.ts'
import { maxPath } from '../../files/root.ts'
import { createFileAccess } from './file-access.ts'

const schema = {
  type: 'object',
  properties: { path: { type: 'string', maxLength: maxPath, description: 'A folder, such as `handbook`; default: everything.' } },
  additionalProperties: false,
}

/** Characters of the output per file, without the name: `{"path":"","bytes":1234567},`. */
const charactersPerFile = 40

/** Returns `{files: [{path, bytes}], total}`, sorted by path, cut to the output limit. `config.paths` are glob patterns. */
export function createListFiles(spec: ToolSpec, { files }: ToolDependencies): ToolBuild {
  const access = createFileAccess(files, createPatterns((spec.config['paths'] as string[] | undefined) ?? ['**']))

  async function execute(input: JsonObject, context: ToolContext) {
    const folder = files.normalise(String(input['path'] ?? ''))
    const matches = (await access.list(context)).filter((name) => folder === '' || name === folder || name.startsWith(`${folder}/`))
    if (matches.length === 0 && folder !== '') throw new Error(`There are no files under ${folder}.`)
    const listed = []
    let room = spec.maxOutputCharacters - charactersPerFile
    for (const name of matches) {
      room -= JSON.stringify(name).length + charactersPerFile
      if (room < 0) break
      const size = await stat(await files.resolve(name)).then(
        ({ size }) => size,
        () => undefined,
      )
      if (size !== undefined) listed.push({ path: name, bytes: size })
    }
    return { files: listed, total: matches.length }
  }

  return {
    tool: createTool(spec, {
      description: 'Lists the files that can be read, with their sizes: in one folder or in all.',
      schema,
      effect: 'read',
      filters: false,
      execute,
    }),
  }
}
