/** What stands in a `LinkedQueue`: it carries the links itself, so that every step is O(1) and allocates nothing. */
export interface Linked<Self> {
  previous: Self | null;
  next: Self | null;
  /** The queue it stands in; an item stands in one queue at most. */
  queue: { remove(item: Self): void } | null;
}

/** First in, first out; anything in it can be taken out again. */
export class LinkedQueue<Item extends Linked<Item>> {
  #first: Item | null = null;
  #last: Item | null = null;
  #size = 0;

  get first(): Item | null {
    return this.#first;
  }

  get size(): number {
    return this.#size;
  }

  /** The item must stand in no queue. */
  push(item: Item): void {
    item.queue = this;
    item.previous = this.#last;
    if (this.#last === null) this.#first = item;
    else this.#last.next = item;
    this.#last = item;
    this.#size++;
  }

  shift(): Item | null {
    const item = this.#first;
    if (item !== null) this.remove(item);
    return item;
  }

  /** Nothing happens when the item stands in another queue, or in none. */
  remove(item: Item): void {
    if (item.queue !== this) return;
    if (item.previous === null) this.#first = item.next;
    else item.previous.next = item.next;
    if (item.next === null) this.#last = item.previous;
    else item.next.previous = item.previous;
    item.previous = null;
    item.next = null;
    item.queue = null;
    this.#size--;
  }
}
