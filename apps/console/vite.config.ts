import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'
import { compressAssets } from './build/compress-assets.ts'

/** Only pages with charts load these. */
const drawsCharts =
  /\/node_modules\/(recharts|@mantine\/charts|victory-vendor|d3-[a-z]+|@reduxjs|redux|redux-thunk|react-redux|immer|reselect|es-toolkit|decimal\.js-light|internmap|eventemitter3)\//

export default defineConfig({
  base: '/console/',
  plugins: [react(), compressAssets()],
  build: {
    target: 'es2022',
    // The content security policy allows no data: URLs, so assets are not inlined.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    chunkSizeWarningLimit: 1000,
    rolldownOptions: {
      output: {
        // By default every shared component becomes a file of its own, and the first page loads sixty.
        codeSplitting: {
          groups: [
            {
              name: 'library',
              test: (id) => id.includes('/node_modules/') && !drawsCharts.test(id),
              priority: 3,
            },
            { name: 'charts', test: drawsCharts, priority: 2 },
            {
              name: 'shared',
              test: /\/src\/(components|i18n|calculations|session|api|app)\/|\/packages\//,
              priority: 1,
            },
          ],
        },
      },
    },
  },
})
