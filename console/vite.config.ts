import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

/** Address of the service that the development server passes requests on to. */
const service = process.env['CONSOLE_SERVICE'] ?? 'http://127.0.0.1:3000'

/** Modules of ours that the first screen loads in any case: one chunk compresses better than many, and is one file. */
const parts =
  'confirm-dialog|copy-button|cut-text|figures|format-cost|json/|notify|page-header|pages/|skeletons|states|time-format|timestamp|toasts|use-copy|use-path-id'
const atStart = new RegExp(`/console/src/(api/|shell/|parts/(${parts}))`)

/**
 * `vite build console` writes `dist/console`. Addresses in the bundle are relative, so that it works below every prefix.
 * `vite console` serves the sources at `/console/` and passes on what belongs to the service.
 */
export default defineConfig(({ command }) => ({
  root: import.meta.dirname,
  base: command === 'serve' ? '/console/' : './',
  plugins: [react()],
  build: {
    outDir: '../dist/console',
    emptyOutDir: true,
    target: 'es2024',
    // Browsers with `light-dark()`: a compiled form would not follow the theme that Mantine sets.
    cssTarget: ['chrome123', 'firefox120', 'safari17.5'],
    modulePreload: { polyfill: false },
    // Fonts and images stay files: the content security policy forbids `data:` for fonts, and files are cached.
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    rolldownOptions: {
      output: {
        codeSplitting: {
          groups: [
            { name: 'react', test: /node_modules\/(react|react-dom|scheduler)\// },
            { name: 'query', test: /node_modules\/(@tanstack|wouter)\// },
            { name: 'start', test: atStart },
          ],
        },
      },
    },
  },
  server: {
    port: 5173,
    proxy: {
      '^/(core|v1|openapi.json|docs|console/session|console/code)': { target: service, changeOrigin: false },
    },
  },
}))
