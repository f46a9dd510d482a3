import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'
import { compressAssets } from './build/compress-assets.ts'

/** Only pages with figures load these. */
const drawsCharts =
  /\/node_modules\/(recharts|@mantine\/charts|victory-vendor|d3-[a-z]+|@reduxjs|redux|redux-thunk|react-redux|immer|reselect|es-toolkit|decimal\.js-light|internmap|eventemitter3)\//

export default defineConfig({
  base: '/console/',
  plugins: [react(), compressAssets()],
  build: {
    target: 'es2022',
    // The policy of the console allows no data: scripts or fonts, so nothing is put into other files.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    chunkSizeWarningLimit: 1000,
    rolldownOptions: {
      output: {
        // By default every shared component becomes a file, and the first page asks for sixty.
        codeSplitting: {
          groups: [
            {
              name: 'library',
              test: (id) => id.includes('/node_modules/') && !drawsCharts.test(id),
              priority: 3,
            },
            { name: 'charts', test: drawsCharts, priority: 2 },
            { name: 'shared', test: /\/src\/(parts|words|figures|api|app)\/|\/packages\//, priority: 1 },
          ],
        },
      },
    },
  },
})
