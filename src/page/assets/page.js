// What the page does beyond being read: it is complete without this.
