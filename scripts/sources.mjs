import { enableCompileCache } from 'node:module'
import { fileURLToPath } from 'node:url'

// Runs the program from its sources, whether or not a build exists: `npm run dev`, tests, benchmark and chaos test.
enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/agent-core', import.meta.url)))
await import('../src/main.ts')
