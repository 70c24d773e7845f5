import type { Artifact } from './artifact.ts'

/** Refuses every file, for tools that make none. */
export const keepNothing = (): Promise<Artifact> => Promise.reject(new Error('No files are kept here.'))
