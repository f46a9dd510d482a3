const tasks = new Set<() => void>()

/** Runs `task` when the user signs out: what a page keeps in this tab belongs to the user. A session that ends by itself keeps it. */
export function onSignOut(task: () => void): void {
  tasks.add(task)
}

export function runSignOutTasks(): void {
  for (const task of tasks) task()
}
