import { registerHooks } from 'node:module'
import path from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { markFile, type FileMark } from './file-mark.ts'

/** Imports that resolve to files of the service, because a module is usually not part of a package. */
const provided: Readonly<Record<string, string>> = {
  'agent-core': new URL(`../../tool-module${path.extname(import.meta.filename)}`, import.meta.url).href,
}

/** Reports each local file that is loaded from now on, or not found. Files of packages are not reported. */
export function reportLoadedFiles(report: (file: FileMark) => void): void {
  const reported = new Set<string>()

  function reportOnce(url: string): void {
    if (!url.startsWith('file:') || url.includes('/node_modules/') || Object.values(provided).includes(url)) return
    const file = fileURLToPath(url)
    if (reported.has(file)) return
    reported.add(file)
    report(markFile(file))
  }

  registerHooks({
    resolve(specifier, context, next) {
      const providedUrl = provided[specifier]
      if (providedUrl !== undefined) return { url: providedUrl, shortCircuit: true }
      try {
        const resolved = next(specifier, context)
        reportOnce(resolved.url)
        return resolved
      } catch (error) {
        const missing = toMissing(specifier, context.parentURL)
        if (missing !== undefined) reportOnce(missing)
        // TypeBox is available for schemas even when the author has not installed the package.
        if (specifier === 'typebox') return next(specifier, { ...context, parentURL: import.meta.url })
        throw error
      }
    },
  })
}

/** The URL of a missing file; the module is loaded again when the file appears. */
function toMissing(specifier: string, parentURL: string | undefined): string | undefined {
  if (specifier.startsWith('file:')) return specifier
  if (path.isAbsolute(specifier)) return pathToFileURL(specifier).href
  return /^\.\.?\//.test(specifier) && parentURL?.startsWith('file:') ? new URL(specifier, parentURL).href : undefined
}
