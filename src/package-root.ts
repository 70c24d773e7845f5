import path from 'node:path'

/** Folder with package.json and the samples: the parent of `src/`, and in a build the parent of `dist/src/`. */
export const packageRoot = path.join(import.meta.dirname, import.meta.filename.endsWith('.ts') ? '..' : '../..')
