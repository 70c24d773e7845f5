import path from 'node:path'
import { Ajv } from 'ajv'
import standalone from 'ajv/dist/standalone/index.js'
import type { Plugin } from 'rolldown'

/** Replaces `configuration/compile-schema.ts` by functions that Ajv has compiled during the build. */
export function compiledSchemas(sources: string): Plugin {
  const replaced = path.join(sources, 'configuration/compile-schema.ts')
  const functions = path.join(sources, 'configuration/compiled-schemas.cjs')
  return {
    name: 'compiled-schemas',
    resolveId: (id) => (id === functions ? functions : null),
    async load(id) {
      if (id === functions) return compileAll()
      if (id !== replaced) return null
      return `import functions from ${JSON.stringify(functions)}\nexport const compileSchema = (name) => functions[name]\n`
    },
  }
}

/** CommonJS code with a function for each schema of the configuration. */
async function compileAll(): Promise<string> {
  const { configurationSchemas, toClosed } = await import('../../src/configuration/schema-walk.ts')
  const { ajvOptions } = await import('../../src/json/schema/ajv.ts')
  const ajv = new Ajv({ ...ajvOptions.configuration, code: { source: true } })
  for (const [name, schema] of configurationSchemas) ajv.addSchema(toClosed(schema), name)
  return standalone.default(ajv, Object.fromEntries([...configurationSchemas.keys()].map((name) => [name, name])))
}
