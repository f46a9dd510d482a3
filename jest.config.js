import { specSeconds } from './packages/testkit/src/spec-limit.ts'

// Sources are ESM TypeScript that Node 24 runs directly, so jest transforms nothing.
export default {
  runner: '<rootDir>/packages/testkit/src/jest/spec-processes.ts',
  globalSetup: '<rootDir>/packages/testkit/src/jest/global-setup.ts',
  globalTeardown: '<rootDir>/packages/testkit/src/jest/global-teardown.ts',
  testSequencer: '<rootDir>/packages/testkit/src/jest/long-first.ts',
  transform: {},
  // The built SDK has the same package name as its sources, which jest refuses.
  modulePathIgnorePatterns: [
    '<rootDir>/.herald',
    '<rootDir>/apps/console/dist',
    '<rootDir>/packages/client/dist',
  ],
  testTimeout: specSeconds * 1000,
}
