import { registerHooks } from 'node:module'
import path from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { markFile, type FileMark } from './file-mark.ts'

/** Resolved to ours wherever a module lies: it is usually no part of a package. */
const provided: Readonly<Record<string, string>> = {
  'agent-core': new URL(`../../tool-module${path.extname(import.meta.filename)}`, import.meta.url).href,
}

/** Told of each local file that is loaded from now on, or looked for in vain; files of packages are none of the author's. */
export function reportLoadedFiles(report: (file: FileMark) => void): void {
  const told = new Set<string>()

  function tell(url: string): void {
    if (!url.startsWith('file:') || url.includes('/node_modules/') || Object.values(provided).includes(url)) return
    const file = fileURLToPath(url)
    if (told.has(file)) return
    told.add(file)
    report(markFile(file))
  }

  registerHooks({
    resolve(specifier, context, next) {
      const own = provided[specifier]
      if (own !== undefined) return { url: own, shortCircuit: true }
      try {
        const found = next(specifier, context)
        tell(found.url)
        return found
      } catch (error) {
        const missing = toMissing(specifier, context.parentURL)
        if (missing !== undefined) tell(missing)
        // A schema may be written with TypeBox, whether the author has installed it or not.
        if (specifier === 'typebox') return next(specifier, { ...context, parentURL: import.meta.url })
        throw error
      }
    },
  })
}

/** Where a file was looked for: when it appears, what needed it may be loaded. */
function toMissing(specifier: string, parentURL: string | undefined): string | undefined {
  if (specifier.startsWith('file:')) return specifier
  if (path.isAbsolute(specifier)) return pathToFileURL(specifier).href
  return /^\.\.?\//.test(specifier) && parentURL?.startsWith('file:') ? new URL(specifier, parentURL).href : undefined
}
